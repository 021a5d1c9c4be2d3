"""Names that dates are written with: months in the languages of feeds, and time zones in minutes from UTC."""

from __future__ import annotations

_MONTHS = (
    "jan januar january janvier enero ene gennaio gen janeiro januari январь января янв styczeń "
    "stycznia sty tammikuu tammikuuta ocak oca leden ledna led január ianuarie ιανουαρίου ιαν siječanj",
    "feb februar february février fevrier févr fév fev febrero febbraio fevereiro februari февраль "
    "февраля фев luty lutego lut helmikuu helmikuuta şubat şub únor února úno február februarie "
    "φεβρουαρίου φεβ",
    "mar mär märz mrz march mars marzo março marco maart mrt март марта мар marzec marca maaliskuu "
    "maaliskuuta mart březen března bře március márc martie μαρτίου μαρ maerz",
    "apr april avril avr abril abr aprile апрель апреля апр kwiecień kwietnia kwi huhtikuu huhtikuuta "
    "nisan nis duben dubna dub április ápr aprilie απριλίου απρ",
    "may mai mayo maggio mag maio mei maj май мая maja toukokuu toukokuuta mayıs květen května kvě "
    "május máj μαΐου μάιος",
    "jun juni june juin junio giugno giu junho июнь июня июн czerwiec czerwca cze kesäkuu kesäkuuta "
    "haziran haz červen června čvn június jún iunie ιουνίου ιουν",
    "jul juli july juillet juil julio luglio lug julho июль июля июл lipiec lipca lip heinäkuu "
    "heinäkuuta temmuz tem červenec července čvc július júl iulie ιουλίου ιουλ",
    "aug august août aout agosto ago augustus augusti август августа авг sierpień sierpnia sie elokuu "
    "elokuuta ağustos ağu srpen srpna srp augusztus αυγούστου αυγ",
    "sep sept september septembre septiembre settembre set setembro сентябрь сентября сен сент "
    "wrzesień września wrz syyskuu syyskuuta eylül eyl září zář szeptember szept septembrie "
    "σεπτεμβρίου σεπ",
    "oct okt october oktober octobre octubre ottobre ott outubro out октябрь октября окт październik "
    "października paź lokakuu lokakuuta ekim eki říjen října říj október octombrie οκτωβρίου οκτ",
    "nov november novembre noviembre novembro ноябрь ноября ноя нояб listopad listopada lis marraskuu "
    "marraskuuta kasım kas noiembrie νοεμβρίου νοε",
    "dec dez december dezember décembre decembre déc diciembre dic dicembre dezembro декабрь декабря "
    "дек grudzień grudnia gru joulukuu joulukuuta aralık ara prosinec prosince pro decembrie "
    "δεκεμβρίου δεκ",
)
MONTHS = {name: month for month, names in enumerate(_MONTHS, 1) for name in names.split()}
"""Lower-case names and abbreviations, without full stops. `listopad` is November, as in Polish and Czech."""

ZONES = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0,
    "bst": 60, "ist": 330, "west": 60, "cet": 60, "mez": 60, "cest": 120, "mesz": 120, "met": 60, "mest": 120,
    "eet": 120, "eest": 180, "msk": 180, "msd": 240, "trt": 180, "sast": 120, "idt": 180, "gst": 240,
    "pkt": 300, "sgt": 480, "hkt": 480, "awst": 480, "jst": 540, "kst": 540, "acst": 570, "acdt": 630,
    "aest": 600, "aedt": 660, "nzst": 720, "nzdt": 780,
    "nst": -210, "ndt": -150, "ast": -240, "adt": -180, "est": -300, "edt": -240, "et": -300,
    "cst": -360, "cdt": -300, "ct": -360, "mst": -420, "mdt": -360, "mt": -420, "pst": -480, "pdt": -420,
    "pt": -480, "akst": -540, "akdt": -480, "hst": -600, "brt": -180, "art": -180, "clt": -240,
}  # fmt: skip
"""Where a name is used by several zones the one most seen in feeds. A single letter of RFC 822 other than Z
means UTC: its sign was defined wrongly, so nothing can be concluded from it."""
