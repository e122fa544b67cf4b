"""What invented worlds are made of: subjects, requests and reasons in three languages, parts of tool names, people."""

from __future__ import annotations

from dataclasses import dataclass

from worlds.engine.wording import PEOPLE, Person

LANGUAGES = ("en", "zh", "ja")
Said = tuple[str, str, str]
"""The same words in each of ``LANGUAGES``."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a world is about. ``slug`` is the noun in names of tools; ``party`` who owns such a record."""

    slug: str
    noun: Said
    party: str
    trade: Said


@dataclass(frozen=True, slots=True)
class Errand:
    """A kind of request; ``{noun}``, ``{record}``, ``{date}`` and ``{other}`` are filled in."""

    slug: str
    words: Said


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "plot", ("allotment plot", "菜园地块", "貸し農園の区画"), "gardener", ("allotments", "市民菜园", "市民農園")
    ),
    Subject("container", ("container", "集装箱", "コンテナ"), "shipper", ("sea freight", "海运", "海上輸送")),
    Subject("loan", ("library loan", "借阅单", "貸出票"), "reader", ("the city library", "市图书馆", "市立図書館")),
    Subject(
        "license", ("software license", "软件许可证", "ライセンス"), "holder", ("licensing", "软件授权", "使用許諾")
    ),
    Subject("sample", ("blood sample", "血液样本", "血液検体"), "ward", ("the laboratory", "化验室", "検査室")),
    Subject("turbine", ("wind turbine", "风力涡轮机", "風力発電機"), "operator", ("wind power", "风电", "風力発電")),
    Subject(
        "course", ("evening course", "夜校课程", "夜間講座"), "student", ("adult education", "成人教育", "社会人教育")
    ),
    Subject("locker", ("parcel locker", "快递柜", "宅配ロッカー"), "resident", ("parcels", "快递", "宅配便")),
    Subject("claim", ("insurance claim", "保险理赔单", "保険請求"), "insured", ("insurance", "保险", "損害保険")),
    Subject("berth", ("harbour berth", "泊位", "係留場所"), "skipper", ("the marina", "游艇港", "マリーナ")),
    Subject(
        "cluster", ("compute cluster", "计算集群", "計算クラスタ"), "team", ("cloud hosting", "云主机", "クラウド")
    ),
    Subject("recipe", ("canteen menu", "食堂菜单", "社食の献立"), "kitchen", ("the canteens", "食堂", "社員食堂")),
    Subject("hearing", ("court hearing", "庭审", "口頭弁論"), "counsel", ("the court office", "法院", "裁判所")),
    Subject("hive", ("bee hive", "蜂箱", "ミツバチの巣箱"), "beekeeper", ("beekeeping", "养蜂", "養蜂")),
    Subject("ticket", ("season ticket", "季票", "定期券"), "passenger", ("the tramway", "有轨电车", "路面電車")),
    Subject(
        "warehouse", ("storage unit", "仓储单元", "貸し倉庫"), "tenant", ("self storage", "自助仓储", "トランクルーム")
    ),
)

ERRANDS: tuple[Errand, ...] = (
    Errand(
        "move", ("move {noun} {record} to {date}", "把{noun}{record}改到{date}", "{noun}{record}を{date}に変更して")
    ),
    Errand(
        "close",
        ("close {noun} {record} by {date}", "在{date}前注销{noun}{record}", "{noun}{record}を{date}までに解約して"),
    ),
    Errand(
        "renew",
        ("renew {noun} {record} until {date}", "把{noun}{record}续期到{date}", "{noun}{record}を{date}まで更新して"),
    ),
    Errand(
        "pass-on",
        (
            "put {noun} {record} in the name of {other}",
            "把{noun}{record}过户给{other}",
            "{noun}{record}の名義を{other}に移して",
        ),
    ),
    Errand(
        "enlarge",
        (
            "enlarge {noun} {record} from {date} on",
            "从{date}起扩大{noun}{record}",
            "{date}から{noun}{record}を拡張して",
        ),
    ),
    Errand(
        "inspect",
        ("have {noun} {record} inspected on {date}", "在{date}检修{noun}{record}", "{date}に{noun}{record}を点検して"),
    ),
    Errand(
        "refund",
        ("pay back the deposit on {noun} {record}", "退还{noun}{record}的押金", "{noun}{record}の保証金を返金して"),
    ),
    Errand(
        "unlock",
        (
            "unlock {noun} {record}, blocked since {date}",
            "解锁自{date}起被冻结的{noun}{record}",
            "{date}から止まっている{noun}{record}を解除して",
        ),
    ),
    Errand(
        "split",
        (
            "split {noun} {record} between me and {other}",
            "把{noun}{record}分给我和{other}",
            "{noun}{record}を私と{other}で分割して",
        ),
    ),
    Errand(
        "reprint",
        (
            "send me the papers of {noun} {record} again",
            "重新寄送{noun}{record}的文件",
            "{noun}{record}の書類を再送して",
        ),
    ),
)

REASONS: tuple[Said, ...] = (
    ("we are moving to another town", "我们要搬到别的城市", "別の町に引っ越す"),
    ("my knee was operated on and I walk with a stick", "我的膝盖动了手术，走路要拄拐", "膝を手術して杖をついている"),
    ("the river flooded our cellar", "河水淹了我们的地下室", "川の水で地下室が浸かった"),
    ("the choir goes on tour that week", "合唱团那周要去巡演", "その週は合唱団の演奏旅行がある"),
    ("a printing mistake shows the wrong year", "印刷错误，年份写错了", "印刷の誤りで年が違っている"),
    ("my accountant insists on it before the audit", "会计说审计之前必须办好", "監査の前に済ませろと会計士が言う"),
    ("our dog chewed through the cable", "我家的狗把电缆咬断了", "犬がケーブルをかみ切った"),
    ("the twins start school in autumn", "双胞胎秋天要上学", "双子が秋に小学校へ上がる"),
    ("I inherited it from an aunt in Lisbon", "这是里斯本的姑妈留给我的遗产", "リスボンの叔母から相続した"),
    ("the crane on the building site blocks the road", "工地的吊车堵住了路", "工事現場のクレーンが道をふさいでいる"),
    ("my password manager lost everything", "我的密码管理器数据全丢了", "パスワード管理の記録が全部消えた"),
    ("a storm tore off half of the roof", "暴风掀掉了半个屋顶", "嵐で屋根が半分飛んだ"),
    ("the football club needs the money for shirts", "足球俱乐部要用钱买球衣", "サッカー部のユニフォーム代が要る"),
    ("I am on night shift at the hospital", "我在医院值夜班", "病院で夜勤をしている"),
    ("the neighbour complained about the smell", "邻居投诉有气味", "隣の人から臭いの苦情が来た"),
    ("my bank closed the old account", "银行关闭了我的旧账户", "銀行が古い口座を閉じた"),
    ("the film crew wants to shoot here", "摄制组想在这里拍电影", "映画の撮影隊がここを使いたがっている"),
    ("we are expecting a baby in May", "我们五月要迎来宝宝", "五月に赤ちゃんが生まれる"),
    ("somebody stole the plate at night", "夜里有人偷了铭牌", "夜のうちに銘板を盗まれた"),
    ("the thesis has to be handed in", "毕业论文马上要交", "卒業論文の提出が迫っている"),
    ("a wasp nest was found behind the wall", "墙后发现了马蜂窝", "壁の裏にスズメバチの巣が見つかった"),
    ("the ferry no longer runs on Sundays", "渡轮星期天停运了", "日曜のフェリーがなくなった"),
    ("my business partner left for Canada", "我的合伙人去了加拿大", "共同経営者がカナダへ行った"),
    ("the freezer failed and all is thawing", "冰柜坏了，东西都在融化", "冷凍庫が壊れて全部溶けている"),
    ("I got married and changed my surname", "我结婚改了姓", "結婚して名字が変わった"),
    ("the chess tournament was put off", "国际象棋比赛延期了", "チェスの大会が延期になった"),
    ("the auditor found a duplicate entry", "审计员发现了重复的记录", "監査で二重の記載が見つかった"),
    ("our van broke down near Graz", "我们的货车在格拉茨附近抛锚了", "グラーツの近くで車が故障した"),
    ("the landlord sells the whole house", "房东要卖掉整栋房子", "大家が建物ごと売りに出す"),
    ("I am allergic to the new paint", "我对新油漆过敏", "新しい塗料にアレルギーがある"),
    ("a customs officer asked for the papers", "海关官员要看文件", "税関で書類を求められた"),
    ("the harvest came three weeks early", "收成提早了三个星期", "収穫が三週間早まった"),
    ("grandfather gives up driving", "爷爷不再开车了", "祖父が運転をやめる"),
    ("the satellite dish was hit by lightning", "卫星天线被雷击了", "衛星アンテナに雷が落ちた"),
    ("the orchestra hires a second harp", "乐团要租第二架竖琴", "楽団がハープをもう一台借りる"),
    ("a virus encrypted our office computers", "病毒加密了办公室的电脑", "事務所のパソコンがウイルスで暗号化された"),
)

FRAMES: dict[str, tuple[str, ...]] = {
    "en": (
        "Please {errand}: {reason}.",
        "Could you {errand}? The thing is that {reason}.",
        "I need somebody to {errand}, because {reason}.",
        "Now that {reason}, I have to ask you to {errand}.",
        "It's about {record}; {reason}. I would like you to {errand}.",
    ),
    "zh": ("请{errand}，因为{reason}。", "{reason}，所以请{errand}。", "麻烦您{errand}，原因是{reason}。"),
    "ja": (
        "{reason}ため、{errand}ください。",
        "{errand}いただけますか。理由は、{reason}ためです。",
        "お手数ですが{errand}ください（{reason}ため）。",
    ),
}
GREETINGS: dict[str, tuple[str, ...]] = {
    "en": (
        "Hello {firm}, this is {name} ({email}), about {trade}.",
        "Dear {firm} team for {trade}, my name is {name}, {email}.",
        "Hi, {name} here ({email}). Is this {firm}, {trade}?",
    ),
    "zh": ("您好，{firm}{trade}！我是{name}（{email}）。", "{firm}客服你好，我叫{name}，邮箱{email}，关于{trade}。"),
    "ja": (
        "{firm}の{trade}ご担当者様、{name}（{email}）です。",
        "お世話になります。{trade}の件で、{name}と申します（{email}）。",
    ),
}

ASPECTS: tuple[str, ...] = (
    "quota", "slot", "permit", "badge", "batch", "valve", "crate", "route", "roster", "meter", "seal", "deposit",
    "voucher", "queue", "label", "profile", "schedule", "fee", "bundle", "sensor", "mandate", "ledger", "packet", "key",
)  # fmt: skip
"""Nouns for parts of a record. Each decision of a world has one of its own, so that no two share a tool."""

ASIDE_NAMES: tuple[tuple[str, bool], ...] = (
    ("get_{n}_history", False), ("list_{n}s", False), ("search_{n}_notes", False), ("show_{n}_help", False),
    ("add_{n}_remark", True), ("print_{n}_summary", True), ("subscribe_{n}_news", True), ("tag_{n}", True),
    ("count_{n}s", False), ("notify_{n}_desk", True), ("describe_{n}", False), ("rate_{n}", True),
)  # fmt: skip
"""Harmless calls, and whether they look as if they wrote something."""

MORE_PEOPLE: tuple[Person, ...] = (
    Person("佐藤美咲", "misaki.sato@yubin.example", "ja"),
    Person("高橋健太", "kenta.t@yubin.example", "ja"),
    Person("中村あかり", "akari.n@yubin.example", "ja"),
    Person("王秀英", "wang.xiuying@youxiang.example", "zh"),
    Person("刘洋", "liu.yang@youxiang.example", "zh"),
)
EVERYBODY: tuple[Person, ...] = (*PEOPLE, *MORE_PEOPLE)

SYLLABLES = ("ka", "ve", "lo", "ri", "mon", "tar", "is", "qua", "ned", "bel", "ost", "um", "fen", "dra", "zil", "por")
AGENT_NAMES = ("atlas", "birch", "cobalt", "dunlin", "ember", "fjord", "garnet", "heron", "indigo", "juniper", "kelp")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "September", "October", "November")
