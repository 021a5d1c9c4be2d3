<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <!-- Each title with its link in the next line. -->
  <xsl:output method="text" encoding="UTF-8"/>
  <xsl:template match="/">
    <xsl:for-each select="feed/element/item">
      <xsl:value-of select="normalize-space(title)"/>
      <xsl:text>&#10;</xsl:text>
      <xsl:if test="link">
        <xsl:value-of select="concat('  ', link, '&#10;')"/>
      </xsl:if>
    </xsl:for-each>
  </xsl:template>
</xsl:stylesheet>
