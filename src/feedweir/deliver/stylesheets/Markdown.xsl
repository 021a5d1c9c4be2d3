<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <!-- A list for chats and notes. -->
  <xsl:output method="text" encoding="UTF-8" media-type="text/markdown"/>
  <xsl:template match="/">
    <xsl:for-each select="feed/element/item">
      <xsl:text>- </xsl:text>
      <xsl:choose>
        <xsl:when test="link">
          <xsl:value-of select="concat('[', translate(normalize-space(title), '[]', '()'), '](', link, ')')"/>
        </xsl:when>
        <xsl:otherwise>
          <xsl:value-of select="normalize-space(title)"/>
        </xsl:otherwise>
      </xsl:choose>
      <xsl:value-of select="concat(' (', source, ')&#10;')"/>
    </xsl:for-each>
  </xsl:template>
</xsl:stylesheet>
