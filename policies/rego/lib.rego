# The operators of gpuvet's rule language, written by hand. Every function is total: what is absent is null, what cannot be known
# (a text that a template engine is still to fill in, a field that an object elsewhere may supply) is `unknown`, and nothing errors.
# The reference is validator/gpuvet/values/total.py; tests/differential proves that both agree.
package gpuvet.lib

# No JSON value is a set, so this one is like no other value.
unknown := set()

nanos := 1000000000

cap := 9223372036854775807000000000

int64_end := 9223372036854775808

zeros := "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"

# ---- values ----

# Whether a template engine may still have something to fill in anywhere. May be true without reason, which only costs time.
default templated := false

templated if {
	some mark in ["{{", "${", "$("]
	contains(json.marshal(input), mark)
}

default placeholder(_) := false

placeholder(value) if {
	templated
	is_string(value)
	some mark in ["{{", "${", "$("]
	contains(value, mark)
}

opaque(value) if value == unknown

opaque(value) if placeholder(value)

# The value below, following keys of maps and indexes of lists.
get(value, path) := object.get(value, path, null) if {
	is_object(value)
	not templated
} else := unknown if {
	some i in numbers.range(0, count(path) - 1)
	opaque(object.get({"": value}, array.concat([""], array.slice(path, 0, i)), null))
} else := object.get({"": value}, array.concat([""], path), null)

# The same, with keys that may be unknown themselves.
get_by(value, path) := unknown if {
	some i, key in path
	key == unknown
	is_object(object.get({"": value}, array.concat([""], array.slice(path, 0, i)), null))
} else := get(value, path)

# What can be drawn from: a list, a map, or nothing.
items(value) := value if {
	is_array(value)
} else := value if {
	is_object(value)
} else := []

# Place and value of each item.
located(at, value) := [[array.concat(at, [key]), item] | some key, item in items(value)]

last(list) := list[count(list) - 1]

# Where the item of a list stands that was drawn from elsewhere.
place_of(found, index) := found[index][0] if {
	is_number(index)
} else := ["self"]

flatten(lists) := [item | some list in lists; some item in items(list)]

# The lists after each other.
join(lists) := [item | some list in lists; some item in list]

pick(true, value, _) := value

pick(false, _, value) := value

either(left, right) := right if {
	left == null
} else := left

# The map with all of `new` in it.
over(map, new) := object.union(object.remove(map, object.keys(new)), new)

# ---- tests ----

no(value) := value == false

same(left, right) := left == right

differ(left, right) := left != right

some_true(tests) := true in tests

all_true(tests) := count([test | some test in tests; test == false]) == 0

# What Python takes for true.
default truth(_) := true

# Not written out where it is looked into: OPA 1.17, which Gatekeeper 3.23 is built with, cannot index a map.
nothings := [null, false, 0, "", [], {}]

truth(value) := false if value in nothings

default member(_, _) := false

member(item, list) if {
	is_array(list)
	item in list
}

member(item, map) if {
	is_object(map)
	is_string(item)
	item in object.keys(map)
}

default is_type(_, _) := false

is_type(value, "text") if is_string(value)

is_type(value, "number") if is_number(value)

is_type(value, "integer") if integral(value)

is_type(value, "bool") if is_boolean(value)

is_type(value, "map") if is_object(value)

is_type(value, "list") if is_array(value)

default matches(_, _) := false

# The pattern is whole already: `^(?:...)$`.
matches(value, pattern) if {
	is_string(value)
	regex.match(pattern, value)
}

default whole_pattern(_) := "^[^\\x{0}-\\x{10FFFF}]$"

whole_pattern(pattern) := concat("", ["^(?:", pattern, ")$"]) if is_string(pattern)

default below(_, _) := false

below(left, right) if {
	left != null
	right != null
	left < right
}

default up_to(_, _) := false

up_to(left, right) if {
	left != null
	right != null
	left <= right
}

# ---- numbers ----

default integral(_) := false

integral(value) if {
	is_number(value)
	value % 1 == 0
}

# A number in decimal digits, which may start with zeros.
digits(text) := to_number(trim_left(text, "0")) if {
	trim_left(text, "0") != ""
} else := 0

signed(text) := 0 - digits(substring(text, 1, -1)) if {
	startswith(text, "-")
} else := digits(trim_left(text, "+"))

# Nanos of a quantity written as text or number.
quantity(value) := text_quantity(trim(value, " ")) if {
	is_string(value)
	count(value) < 100
} else := max([min([value * 1, int64_end - 1]), 1 - int64_end]) * nanos if {
	integral(value)
} else := text_quantity(json.marshal(value)) if {
	is_number(value)
} else := null

text_quantity(text) := digits(text) * nanos if {
	regex.match(`^[0-9]{1,17}$`, text)
} else := found if {
	text != ""
	[_, sign, whole_digits, fraction, suffix] := regex.find_all_string_submatch_n(`^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$`, text, 1)[0]
	[multiplier, exponent] := suffix_of(suffix)
	found := scaled(sign, trim_left(concat("", [whole_digits, fraction]), "0"), multiplier, (exponent - count(fraction)) + 9)
} else := null

suffixes := {
	"Ki": [1024, 0],
	"Mi": [1048576, 0],
	"Gi": [1073741824, 0],
	"Ti": [1099511627776, 0],
	"Pi": [1125899906842624, 0],
	"Ei": [1152921504606846976, 0],
	"n": [1, -9],
	"u": [1, -6],
	"m": [1, -3],
	"": [1, 0],
	"k": [1, 3],
	"M": [1, 6],
	"G": [1, 9],
	"T": [1, 12],
	"P": [1, 15],
	"E": [1, 18],
}

suffix_of(suffix) := suffixes[suffix] if {
	true
} else := [1, power] if {
	regex.match(`^[eE][+-]?[0-9]{1,20}$`, suffix)
	count(suffix) < 22
	power := signed(substring(suffix, 1, -1))
	power < int64_end
	power >= 0 - int64_end
}

# digits * multiplier * 10^shift, rounded away from zero and capped.
scaled(sign, number, multiplier, shift) := signed_as(sign, min([magnitude(number, multiplier, shift), cap])) if {
	number != ""
} else := 0

signed_as("-", amount) := 0 - amount

signed_as("+", amount) := amount

signed_as("", amount) := amount

magnitude(number, _, shift) := cap if {
	shift + count(number) > 60
} else := 1 if {
	shift + count(number) < -60
}

magnitude(number, multiplier, shift) := (to_number(number) * multiplier) * to_number(concat("", ["1", substring(zeros, 0, shift)])) if {
	shift + count(number) <= 60
	shift >= 0
}

magnitude(number, multiplier, shift) := rounded_up(json.marshal(to_number(number) * multiplier), 0 - shift) if {
	shift + count(number) >= -60
	shift < 0
}

# Decimal digits without the last `cut` ones.
rounded_up(text, cut) := 1 if {
	count(text) <= cut
} else := to_number(substring(text, 0, count(text) - cut)) + 1 if {
	trim_left(substring(text, count(text) - cut, -1), "0") != ""
} else := to_number(substring(text, 0, count(text) - cut))

# An int64 written as decimal text or number.
integer(value) := number if {
	is_string(value)
	regex.match(`^[+-]?[0-9]{1,20}$`, value)
	number := signed(value)
	in_range(number)
} else := value * 1 if {
	integral(value)
	in_range(value * 1)
} else := null

in_range(number) if {
	number >= 0 - int64_end
	number < int64_end
}

# A whole quantity as an int64.
whole(amount) := number if {
	is_number(amount)
	amount % nanos == 0
	number := without_nanos(amount)
	in_range(number)
} else := null

without_nanos(amount) := 0 if {
	amount == 0
} else := to_number(substring(json.marshal(amount), 0, count(json.marshal(amount)) - 9))

# The parts of a version, without zeros at the end.
version(value) := parts if {
	is_string(value)
	count(value) <= 100
	[_, numbers_text] := regex.find_all_string_submatch_n(`^v?([0-9]+(?:\.[0-9]+)*)(?:[-+][0-9A-Za-z.+-]*)?$`, value, 1)[0]
	listed := [digits(part) | some part in split(numbers_text, ".")]
	parts := array.slice(listed, 0, max({0} | {i | some i, part in listed; part != 0}) + 1)
} else := null

add(left, right) := null if {
	null in [left, right]
} else := left + right

sub(left, right) := null if {
	null in [left, right]
} else := left - right

times(left, right) := product if {
	not null in [left, right]
	product := left * right
	in_range(product)
} else := null

floored(left, right) := null if {
	null in [left, right]
} else := null if {
	right == 0
} else := 0 if {
	left - mod(left, right) == 0
} else := (left - mod(left, right)) / right

mod(left, right) := null if {
	null in [left, right]
} else := null if {
	right == 0
} else := rest + right if {
	rest := left % right
	rest * right < 0
} else := left % right

total(values) := sum([value | some value in items(values); integral(value)])

largest(values) := max(comparable(values)) if {
	comparable(values) != []
} else := null

smallest(values) := min(comparable(values)) if {
	comparable(values) != []
} else := null

# The numbers, else the versions.
comparable(values) := [value | some value in items(values); integral(value)] if {
	some value in items(values)
	integral(value)
} else := [value | some value in items(values); is_array(value)]

there(values) := [value | some value in items(values); value != null]

# ---- texts ----

size(value) := count(value) if {
	is_string(value)
} else := count(items(value))

parts_of(value, separator) := split(value, separator) if {
	is_string(value)
	is_string(separator)
	separator != ""
} else := []

trimmed(value) := trim(value, " \t\n\r") if {
	is_string(value)
} else := null

lowered(value) := lower(value) if {
	is_string(value)
	regex.match(`^[\x00-\x7f]*$`, value)
} else := concat("", [lowered_letter(letter) | some letter in split(value, "")]) if {
	is_string(value)
} else := null

lowered_letter(letter) := lower(letter) if {
	regex.match(`^[A-Z]$`, letter)
} else := letter

default starts(_, _) := false

starts(value, prefix) if {
	is_string(value)
	is_string(prefix)
	startswith(value, prefix)
}

default ends(_, _) := false

ends(value, suffix) if {
	is_string(value)
	is_string(suffix)
	endswith(value, suffix)
}

default holds(_, _) := false

holds(value, part) if {
	is_string(value)
	is_string(part)
	contains(value, part)
}

append(left, right) := concat("", [plain(left), plain(right)]) if {
	true
} else := null

plain(value) := value if is_string(value)

plain(value) := json.marshal(value * 1) if integral(value)

# ---- words for people ----

# A value as a person would write it in YAML.
text(value) := concat(", ", [text_of_one(item) | some item in value]) if {
	is_array(value)
} else := text_of_one(value)

text_of_one(value) := "nothing" if {
	value == null
} else := "unknown" if {
	value == unknown
} else := value if {
	is_string(value)
	value != ""
	trim(value, " \t\n\r") == value
} else := json.marshal(value)

# A quantity for people.
amount(value) := "nothing" if {
	value == null
} else := json.marshal(without_nanos(value)) if {
	value % nanos == 0
} else := sprintf("%v n", [json.marshal(value)])

dotted(parts) := concat(".", [json.marshal(part) | some part in parts]) if {
	is_array(parts)
} else := "nothing"

# ---- what a Pod asks for ----

asked(container, key) := quantity(either(get(container, ["resources", "requests", key]), get(container, ["resources", "limits", key])))

zero_if_absent(value) := either(value, 0)

# Nanos of a resource key over a Pod as the scheduler counts it; null when no container names the key.
pod_sum(pod, key) := pod_total(pod, key, [asked(container, key) | some container in items(get(pod, ["spec", "containers"]))])

# The same, when each regular container asks for what `regular` says.
pod_total(pod, key, regular) := found if {
	starting := [container | some container in items(get(pod, ["spec", "initContainers"]))]
	amounts := [asked(container, key) | some container in starting]
	there(array.concat(amounts, regular)) != []
	sidecars := [number | some i, container in starting; number := pick(get(container, ["restartPolicy"]) == "Always", zero_if_absent(amounts[i]), 0)]
	peaks := [peak |
		some i, container in starting
		own := pick(get(container, ["restartPolicy"]) == "Always", 0, zero_if_absent(amounts[i]))
		peak := sum(array.slice(sidecars, 0, i + 1)) + own
	]
	overhead := zero_if_absent(quantity(get(pod, ["spec", "overhead", key])))
	found := max(array.concat([0, (sum(sidecars) + total(regular)) + overhead], peaks))
} else := null

# The values that `pod_sum` read; one absent value when there is none.
pod_reads(pod, key) := found if {
	found := [readable(key, value) |
		some name in ["initContainers", "containers"]
		some container in items(get(pod, ["spec", name]))
		some which in ["limits", "requests"]
		value := get(container, ["resources", which, key])
		value != null
	]
	found != []
} else := [null]

# What the API server refuses, malformed or a fraction of an extended resource, leaves the sum unknown: to say so is for other rules.
readable(key, value) := value if {
	placeholder(value)
} else := unknown if {
	quantity(value) == null
} else := unknown if {
	fraction_of_extended(key, value)
} else := value

fraction_of_extended(key, value) if {
	contains(key, "/")
	not contains(key, "kubernetes.io/")
	quantity(value) % nanos != 0
}
