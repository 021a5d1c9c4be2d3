<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <!-- A page with every entry in full. The HTML of items was made safe when they arrived. -->
  <xsl:output method="html" encoding="UTF-8" doctype-system="about:legacy-compat"/>
  <xsl:template match="/feed">
    <html>
      <head>
        <title>
          <xsl:value-of select="@title"/>
        </title>
      </head>
      <body>
        <h1>
          <xsl:value-of select="@title"/>
        </h1>
        <xsl:apply-templates select="element"/>
      </body>
    </html>
  </xsl:template>
  <xsl:template match="element">
    <article>
      <h2>
        <xsl:call-template name="linked"/>
      </h2>
      <p>
        <xsl:value-of select="concat(item/source, ', ', substring(@time, 1, 10))"/>
      </p>
      <xsl:choose>
        <xsl:when test="item/content">
          <xsl:value-of select="item/content" disable-output-escaping="yes"/>
        </xsl:when>
        <xsl:otherwise>
          <xsl:value-of select="item/summary" disable-output-escaping="yes"/>
        </xsl:otherwise>
      </xsl:choose>
      <xsl:if test="annotation/item">
        <ul>
          <xsl:for-each select="annotation/item">
            <li>
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
              <xsl:value-of select="concat(' (', @source, ')')"/>
            </li>
          </xsl:for-each>
        </ul>
      </xsl:if>
    </article>
  </xsl:template>
  <xsl:template name="linked">
    <xsl:choose>
      <xsl:when test="item/link">
        <a href="{item/link}">
          <xsl:value-of select="item/title"/>
        </a>
      </xsl:when>
      <xsl:otherwise>
        <xsl:value-of select="item/title"/>
      </xsl:otherwise>
    </xsl:choose>
  </xsl:template>
</xsl:stylesheet>
