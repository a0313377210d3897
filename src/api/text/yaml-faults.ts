/** What is wrong with a text that is no YAML, in a sentence for the person who wrote it. The parser has other words. */
import type * as Yaml from 'yaml';

type Fault = Pick<Yaml.YAMLError, 'code' | 'message'>;

const noKey = 'a line of a map is a key, a colon, a space and its value';

/** By the parser's code. */
const sentences: Readonly<Partial<Record<Yaml.ErrorCode, string>>> = {
  BAD_ALIAS: 'an alias is * and a name that an anchor (&) has',
  BAD_DIRECTIVE: 'a line that begins with % is a directive, and this is none that is known',
  BAD_INDENT: 'this line is indented differently from those that it belongs to',
  BAD_SCALAR_START: 'a value that begins with such a character is written in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a key in a value: indent the next line less, or write a value with a colon in quotes',
  BLOCK_IN_FLOW: 'what is in [ ] or { } has no lines of its own that begin with a key or -',
  DUPLICATE_KEY: 'this key is there twice',
  KEY_OVER_1024_CHARS: 'this key has more than 1024 characters',
  MULTILINE_IMPLICIT_KEY: noKey,
  RESOURCE_EXHAUSTION: 'lists and maps in each other are too deep',
  TAB_AS_INDENT: 'lines are indented by spaces, not by tabs',
};

/** By what the parser says, where a code has several meanings. */
const meanings: readonly (readonly [RegExp, string])[] = [
  [/end with a ([\]}])/, 'the closing $1 is missing'],
  [/^Missing closing (["'])/, 'the closing $1 is missing'],
  [/^(?:Implicit map keys|Map keys)/, noKey],
  [/^Sequence item without/, 'an item of a list begins with - and a space'],
  [/^Missing , /, 'a comma is missing between two items'],
  [/^Block scalar header/, 'the text behind | or > begins on the next line'],
];

/** The error that the others follow from: what is not closed takes the next lines for its own. */
export const tellingError = (errors: readonly Yaml.YAMLError[]): Yaml.YAMLError | undefined =>
  errors.find(({ message }) => /end with a [\]}]|^Missing closing/.test(message)) ?? errors[0];

/** @param rest the text from where the fault is */
export function yamlFault({ code, message }: Fault, rest: string): string {
  for (const [pattern, sentence] of meanings) {
    const found = pattern.exec(message);
    if (found) return sentence.replace('$1', found[1] ?? '');
  }
  if (code === 'BAD_DQ_ESCAPE')
    return `${rest.slice(0, 2)} means nothing in double quotes: write \\\\ for a backslash`;
  const found = /^[^\s,]{1,20}|^\S/.exec(rest)?.[0];
  return sentences[code] ?? (found ? `this is no YAML from ${found} on` : 'the text ends too early');
}
