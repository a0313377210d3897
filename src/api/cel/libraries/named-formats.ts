/** `format.dns1123Label().validate(text)`: checks of strings by name, with the messages of Kubernetes. */
import {
  isLabel1035,
  isLabel1123,
  isLabelValue,
  isQualifiedName,
  isSubdomain1123,
} from '../../values/names.ts';
import { define, type Overload } from '../values/functions.ts';
import { matchSteps } from '../values/size-range.ts';
import { ItemList, Opaque, Optional } from '../values/values.ts';
import { urlProblem } from './networks.ts';
import { parseDate, parseTimestamp } from './times.ts';

type Check = (text: string) => readonly string[];

/** How large the pattern of a check is said to be; its cost follows from that. */
const patternSize = 40;

/** What is left of a name when a suffix is still to come: a dash at the end counts as a letter. */
const prefix =
  (check: Check): Check =>
  (text) =>
    check(text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;
const unless = (holds: boolean, problem: string): readonly string[] => (holds ? [] : [problem]);

const checks: Record<string, Check> = {
  dns1123Label: isLabel1123,
  dns1123Subdomain: isSubdomain1123,
  dns1035Label: isLabel1035,
  qualifiedName: isQualifiedName,
  dns1123LabelPrefix: prefix(isLabel1123),
  dns1123SubdomainPrefix: prefix(isSubdomain1123),
  dns1035LabelPrefix: prefix(isLabel1035),
  labelValue: isLabelValue,
  uri: (text) => {
    const problem = urlProblem(text);
    return problem === undefined ? [] : [problem];
  },
  uuid: (text) => unless(uuid.test(text), 'does not match the UUID format'),
  byte: (text) => unless(text.length % 4 === 0 && base64.test(text), 'invalid base64'),
  date: (text) => unless(parseDate(text) !== undefined, 'invalid date'),
  datetime: (text) => unless(parseTimestamp(text) !== undefined, 'invalid datetime'),
};

class NamedFormat extends Opaque {
  readonly type = 'kubernetes.NamedFormat';
  constructor(
    readonly name: string,
    readonly check: Check,
  ) {
    super();
  }
  equals(other: Opaque): boolean {
    return other instanceof NamedFormat && other.name === this.name;
  }
}

const formats = new Map(Object.entries(checks).map(([name, check]) => [name, new NamedFormat(name, check)]));

function named(name: string): Optional {
  const format = formats.get(name);
  return format === undefined ? Optional.none : new Optional(format);
}

/** None when the text is valid. */
function validate({ check }: NamedFormat, text: string): Optional {
  const problems = check(text);
  return problems.length === 0 ? Optional.none : new Optional(new ItemList(problems));
}

export const namedFormatLibrary = (): readonly Overload[] => [
  ...Array.from(formats, ([name, format]) => define(`format.${name}(): NamedFormat`, () => format)),
  define('format.named(string): optional(NamedFormat)', named),
  define('NamedFormat.validate(string): optional(list(string))', validate, {
    cost: ([, text = 0]) => matchSteps(text, patternSize),
  }),
];
