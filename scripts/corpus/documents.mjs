/** The documents of a file, YAML or JSON, as the values that kubectl would send: YAML 1.1, with exact integers. */
import { Composer, Lexer, Parser } from 'yaml';

/** Nested maps and lists. The `yaml` package composes recursively, and runs out of stack at about 650. */
const depthMax = 200;
const documentsMax = 20_000;
/** How often an alias may be followed, counted by the package. */
const aliasesMax = 1000;
/** Values of a document after its aliases were followed. */
const valuesMax = 2_000_000;

const options = {
  version: '1.1',
  intAsBigInt: true,
  // Go's reader lets a later key win. The package's own check takes quadratic time.
  uniqueKeys: false,
  logLevel: 'silent',
  // Go's reader keeps times, and numbers such as 12:30, as text.
  customTags: (tags) => tags.filter((tag) => tag.format !== 'TIME' && !tag.tag?.endsWith(':timestamp')),
};

/** The values of a text; throws an error with the reason when it cannot be read. */
export function readDocuments(text) {
  const values = [];
  for (const document of new Composer(options).compose(tokensOf(text), true, text.length)) {
    const [error] = document.errors;
    if (error) throw new Error(error.message.split('\n')[0]);
    if (values.length === documentsMax) throw new Error(`more than ${documentsMax} documents`);
    const value = document.toJS({ maxAliasCount: aliasesMax });
    if (value === null || value === undefined) continue;
    check(value);
    values.push(value);
  }
  return values;
}

/** Go's reader lets lines in brackets and quotes begin at any column; the package wants them indented. */
class GoLexer extends Lexer {
  *parseFlowCollection() {
    return yield* this.#anywhere(super.parseFlowCollection());
  }

  *parseQuotedScalar() {
    return yield* this.#anywhere(super.parseQuotedScalar());
  }

  *#anywhere(lexemes) {
    const { indentNext } = this;
    this.indentNext = 0;
    const next = yield* lexemes;
    this.indentNext = indentNext;
    return next;
  }
}

/** Stops at deep nesting before the tree is composed. */
function* tokensOf(text) {
  const parser = new Parser();
  for (const lexeme of new GoLexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > depthMax + 2) throw new Error(`more than ${depthMax} levels`);
  }
  yield* parser.end();
}

/** Throws when a value contains itself, or grew too large, by its aliases. */
function check(root) {
  let count = 0;
  const visit = (value, depth) => {
    count += 1;
    if (count > valuesMax) throw new Error(`more than ${valuesMax} values`);
    if (typeof value !== 'object' || value === null) return;
    if (depth > depthMax) throw new Error(`more than ${depthMax} levels, or an alias that contains itself`);
    for (const part of Object.values(value)) visit(part, depth + 1);
  };
  visit(root, 0);
}

/** JSON in which integers beyond 2^53 keep their digits. */
export function exactText(value) {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(exactText).join()}]`;
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${exactText(member)}`).join()}}`;
  }
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString());
  // Infinite numbers are not in JSON.
  return JSON.stringify(
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : (value ?? null),
  );
}
