"""Names in dates: months in the languages of feeds, AM and PM, and time zones in minutes from UTC."""

from __future__ import annotations

import unicodedata

_MONTHS = (
    "jan januar january janvier enero ene gennaio gen janeiro januari январь января янв styczeń stycznia "
    "sty tammikuu tammikuuta ocak oca leden ledna led január ianuarie ιανουαρίου ιαν siječanj ιανουάριος "
    "gener січня січ януари يناير جانفي",
    "feb februar february février fevrier févr fév fev febrero febbraio fevereiro februari февраль "
    "февраля фев luty lutego lut helmikuu helmikuuta şubat şub únor února úno február februarie "
    "φεβρουαρίου φεβ φεβρουάριος febrer лютого лют февруари فبراير فيفري شباط",
    "mar mär märz mrz march mars marzo março marco maart mrt март марта мар marzec marca maaliskuu "
    "maaliskuuta mart březen března bře március márc martie μαρτίου μαρ maerz μάρτιος març березня бер "
    "مارس آذار",
    "apr april avril avr abril abr aprile апрель апреля апр kwiecień kwietnia kwi huhtikuu huhtikuuta "
    "nisan nis duben dubna dub április ápr aprilie απριλίου απρ απρίλιος квітня кві април أبريل أفريل "
    "نيسان",
    "may mai mayo maggio mag maio mei maj май мая maja toukokuu toukokuuta mayıs květen května kvě május "
    "máj μαΐου μάιος μαϊ maig травня тра مايو ماي أيار",
    "jun juni june juin junio giugno giu junho июнь июня июн czerwiec czerwca cze kesäkuu kesäkuuta "
    "haziran haz červen června čvn június jún iunie ιουνίου ιουν ιούνιος juny червня чер юни يونيو يونيه "
    "جوان حزيران",
    "jul juli july juillet juil julio luglio lug julho июль июля июл lipiec lipca lip heinäkuu heinäkuuta "
    "temmuz tem červenec července čvc július júl iulie ιουλίου ιουλ ιούλιος juliol липня лип юли يوليو "
    "يوليه جويلية تموز",
    "aug august août aout agosto ago augustus augusti август августа авг sierpień sierpnia sie elokuu "
    "elokuuta ağustos ağu srpen srpna srp augusztus αυγούστου αυγ αύγουστος agost agustus серпня сер "
    "أغسطس أوت آب",
    "sep sept september septembre septiembre settembre set setembro сентябрь сентября сен сент wrzesień "
    "września wrz syyskuu syyskuuta eylül eyl září zář szeptember szept septembrie σεπτεμβρίου σεπ "
    "σεπτέμβριος вересня вер септември سبتمبر أيلول",
    "oct okt october oktober octobre octubre ottobre ott outubro out октябрь октября окт październik "
    "października paź lokakuu lokakuuta ekim eki říjen října říj október octombrie οκτωβρίου οκτ "
    "οκτώβριος жовтня жов октомври أكتوبر",
    "nov november novembre noviembre novembro ноябрь ноября ноя нояб listopad listopada lis marraskuu "
    "marraskuuta kasım kas noiembrie νοεμβρίου νοε νοέμβριος листопада лис ноември نوفمبر",
    "dec dez december dezember décembre decembre déc diciembre dic dicembre dezembro декабрь декабря дек "
    "grudzień grudnia gru joulukuu joulukuuta aralık ara prosinec prosince pro decembrie δεκεμβρίου δεκ "
    "δεκέμβριος des desember desembre грудня гру декември ديسمبر",
)


def folded(name: str) -> str:
    """A name without case and accents, which publishers use inconsistently."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    return "".join([letter for letter in letters if not unicodedata.combining(letter)]).replace("ı", "i")


MONTHS = {folded(name): month for month, names in enumerate(_MONTHS, 1) for name in names.split()}
"""Names and abbreviations, folded, without full stops. `listopad` is November, as in Polish and Czech."""

FORENOON = ("上午", "午前", "凌晨", "오전")
AFTERNOON = ("下午", "午後", "晚上", "오후", "p", "μ", "م")
"""What stands before a time or, as a letter, after it."""

ZONES = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "azost": 0,
    "bst": 60, "west": 60, "cet": 60, "mez": 60, "met": 60, "wat": 60,
    "cest": 120, "mesz": 120, "mest": 120, "eet": 120, "sast": 120, "cat": 120,
    "eest": 180, "msk": 180, "trt": 180, "idt": 180, "eat": 180,
    "irst": 210, "msd": 240, "gst": 240, "samt": 240, "irdt": 270, "pkt": 300, "uzt": 300, "yekt": 300,
    "ist": 330, "npt": 345, "omst": 360, "mmt": 390, "ict": 420, "wib": 420, "krat": 420,
    "sgt": 480, "hkt": 480, "awst": 480, "myt": 480, "pht": 480, "wita": 480, "irkt": 480,
    "jst": 540, "kst": 540, "wit": 540, "yakt": 540, "acst": 570, "aest": 600, "chst": 600, "vlat": 600,
    "acdt": 630, "aedt": 660, "magt": 660, "nzst": 720, "pett": 720, "nzdt": 780,
    "azot": -60, "ndt": -150, "adt": -180, "brt": -180, "art": -180, "uyt": -180, "clst": -180, "nst": -210,
    "ast": -240, "edt": -240, "clt": -240, "bot": -240, "vet": -240,
    "est": -300, "et": -300, "cdt": -300, "cot": -300, "pet": -300,
    "cst": -360, "ct": -360, "mdt": -360, "mst": -420, "mt": -420, "pdt": -420, "pst": -480, "pt": -480,
    "akdt": -480, "akst": -540, "hadt": -540, "hast": -600, "hst": -600, "sst": -660,
}  # fmt: skip
"""Where a name is used by several zones the one most seen in feeds: IST is India's, BST British, CST, CDT and EST
American. ET, CT, MT and PT are standard time. A single letter of RFC 822 other than Z means UTC: its sign was
defined wrongly, so nothing can be concluded from it."""
