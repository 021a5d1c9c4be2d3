<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <!-- A page of the pictures of items and of their partners. -->
  <xsl:output method="html" encoding="UTF-8" doctype-system="about:legacy-compat"/>
  <xsl:template match="/feed">
    <html>
      <head>
        <title>
          <xsl:value-of select="@title"/>
        </title>
      </head>
      <body>
        <xsl:for-each select="(element/item | element/annotation/item)[enclosure[starts-with(@type, 'image/')]]">
          <figure>
            <xsl:for-each select="enclosure[starts-with(@type, 'image/')]">
              <img src="{@url}" alt=""/>
            </xsl:for-each>
            <figcaption>
              <xsl:choose>
                <xsl:when test="link">
                  <a href="{link}">
                    <xsl:value-of select="title"/>
                  </a>
                </xsl:when>
                <xsl:otherwise>
                  <xsl:value-of select="title"/>
                </xsl:otherwise>
              </xsl:choose>
            </figcaption>
          </figure>
        </xsl:for-each>
      </body>
    </html>
  </xsl:template>
</xsl:stylesheet>
