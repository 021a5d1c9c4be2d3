<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/">
  <!-- Each item as it was, with the photos of the items it was joined with: their image files as enclosures, and a
       link to each of them at the end of the description. The result is a feed again, so that it can be registered. -->
  <xsl:output method="xml" encoding="UTF-8"/>
  <xsl:template match="/feed">
    <xsl:choose>
      <xsl:when test="not(element/item/original/*[not(self::atom:entry)])">
        <atom:feed>
          <atom:title>
            <xsl:value-of select="@title"/>
          </atom:title>
          <xsl:apply-templates select="element/item/original/*"/>
        </atom:feed>
      </xsl:when>
      <xsl:otherwise>
        <rss version="2.0">
          <channel>
            <title>
              <xsl:value-of select="@title"/>
            </title>
            <xsl:for-each select="element/item">
              <xsl:choose>
                <xsl:when test="original/atom:entry">
                  <xsl:call-template name="flat"/>
                </xsl:when>
                <xsl:otherwise>
                  <xsl:apply-templates select="original/*"/>
                </xsl:otherwise>
              </xsl:choose>
            </xsl:for-each>
          </channel>
        </rss>
      </xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <xsl:template match="original/*">
    <xsl:variable name="partners" select="ancestor::element/annotation/item"/>
    <xsl:copy>
      <xsl:copy-of select="@* | node()[not(self::description)]"/>
      <xsl:if test="not(self::atom:entry)">
        <description>
          <xsl:value-of select="description"/>
          <xsl:call-template name="photos">
            <xsl:with-param name="partners" select="$partners"/>
          </xsl:call-template>
        </description>
      </xsl:if>
      <xsl:for-each select="$partners/enclosure[starts-with(@type, 'image/')]">
        <xsl:choose>
          <xsl:when test="ancestor::element/item/original/atom:entry">
            <atom:link rel="enclosure" href="{@url}" type="{@type}"/>
          </xsl:when>
          <xsl:otherwise>
            <enclosure url="{@url}" type="{@type}" length="{number(concat('0', @length))}"/>
          </xsl:otherwise>
        </xsl:choose>
      </xsl:for-each>
      <xsl:if test="self::atom:entry">
        <xsl:for-each select="$partners[link]">
          <atom:link rel="related" href="{link}" title="{title}"/>
        </xsl:for-each>
      </xsl:if>
    </xsl:copy>
  </xsl:template>

  <!-- An Atom entry among RSS items, as the RSS item it would be. -->
  <xsl:template name="flat">
    <xsl:variable name="partners" select="../annotation/item"/>
    <item>
      <title>
        <xsl:value-of select="title"/>
      </title>
      <xsl:copy-of select="link | author | category | enclosure"/>
      <guid isPermaLink="false">
        <xsl:value-of select="@id"/>
      </guid>
      <description>
        <xsl:value-of select="(content | summary[not(../content)])"/>
        <xsl:call-template name="photos">
          <xsl:with-param name="partners" select="$partners"/>
        </xsl:call-template>
      </description>
      <xsl:if test="published">
        <dc:date>
          <xsl:value-of select="published"/>
        </dc:date>
      </xsl:if>
      <xsl:for-each select="$partners/enclosure[starts-with(@type, 'image/')]">
        <enclosure url="{@url}" type="{@type}" length="{number(concat('0', @length))}"/>
      </xsl:for-each>
    </item>
  </xsl:template>

  <!-- The partners as HTML in text: a link to each, with its picture. -->
  <xsl:template name="photos">
    <xsl:param name="partners"/>
    <xsl:for-each select="$partners">
      <xsl:variable name="photo" select="enclosure[starts-with(@type, 'image/')]/@url"/>
      <xsl:text>&lt;p&gt;</xsl:text>
      <xsl:if test="link">
        <xsl:text>&lt;a href="</xsl:text>
        <xsl:call-template name="escaped">
          <xsl:with-param name="text" select="link"/>
        </xsl:call-template>
        <xsl:text>"&gt;</xsl:text>
      </xsl:if>
      <xsl:if test="$photo">
        <xsl:text>&lt;img src="</xsl:text>
        <xsl:call-template name="escaped">
          <xsl:with-param name="text" select="$photo"/>
        </xsl:call-template>
        <xsl:text>" alt=""&gt; </xsl:text>
      </xsl:if>
      <xsl:call-template name="escaped">
        <xsl:with-param name="text" select="title"/>
      </xsl:call-template>
      <xsl:if test="link">&lt;/a&gt;</xsl:if>
      <xsl:text>&lt;/p&gt;</xsl:text>
    </xsl:for-each>
  </xsl:template>

  <!-- Text for use inside HTML that itself stands in text. -->
  <xsl:template name="escaped">
    <xsl:param name="text"/>
    <xsl:choose>
      <xsl:when test="not($text)"/>
      <xsl:when test="string-length($text) = string-length(translate($text, '&amp;&lt;&gt;&quot;', ''))">
        <xsl:value-of select="$text"/>
      </xsl:when>
      <xsl:when test="string-length($text) = 1">
        <xsl:choose>
          <xsl:when test="$text = '&amp;'">&amp;amp;</xsl:when>
          <xsl:when test="$text = '&lt;'">&amp;lt;</xsl:when>
          <xsl:when test="$text = '&gt;'">&amp;gt;</xsl:when>
          <xsl:otherwise>&amp;quot;</xsl:otherwise>
        </xsl:choose>
      </xsl:when>
      <xsl:otherwise>
        <!-- Halves, so that long texts do not recurse deeply. -->
        <xsl:variable name="half" select="floor(string-length($text) div 2)"/>
        <xsl:call-template name="escaped">
          <xsl:with-param name="text" select="substring($text, 1, $half)"/>
        </xsl:call-template>
        <xsl:call-template name="escaped">
          <xsl:with-param name="text" select="substring($text, $half + 1)"/>
        </xsl:call-template>
      </xsl:otherwise>
    </xsl:choose>
  </xsl:template>
</xsl:stylesheet>
