<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <!-- Everything a person reads, without markup. `width` cuts long texts; 0 keeps them whole. -->
  <xsl:output method="text" encoding="UTF-8"/>
  <xsl:param name="width" select="500"/>
  <xsl:template match="/">
    <xsl:apply-templates select="feed/element"/>
  </xsl:template>
  <xsl:template match="element">
    <xsl:if test="position() &gt; 1">
      <xsl:text>&#10;</xsl:text>
    </xsl:if>
    <xsl:value-of select="concat(normalize-space(item/title), '&#10;')"/>
    <xsl:value-of select="concat(item/source, ', ', substring(@time, 1, 10), '&#10;')"/>
    <xsl:if test="item/text">
      <xsl:choose>
        <xsl:when test="$width &gt; 0 and string-length(item/text) &gt; $width">
          <xsl:value-of select="concat(substring(item/text, 1, $width), '…&#10;')"/>
        </xsl:when>
        <xsl:otherwise>
          <xsl:value-of select="concat(item/text, '&#10;')"/>
        </xsl:otherwise>
      </xsl:choose>
    </xsl:if>
    <xsl:if test="item/link">
      <xsl:value-of select="concat(item/link, '&#10;')"/>
    </xsl:if>
    <xsl:for-each select="annotation/item">
      <xsl:value-of select="concat('  see also: ', normalize-space(title), ' (', @source, ') ', link, '&#10;')"/>
    </xsl:for-each>
  </xsl:template>
</xsl:stylesheet>
