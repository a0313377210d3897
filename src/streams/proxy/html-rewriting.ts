/**
 * Rewrites links in HTML. The text is parsed tag by tag, as browsers do. Only attribute values that are URLs
 * and lead back to the proxied server are replaced; every other byte is kept. Each step advances or gives up
 * on the rest, so the time is linear; and it yields to the event loop between steps.
 */
import { setImmediate } from 'node:timers/promises';
import { LinkError, type LinkRule, rewriteLink } from './link-rewriting.ts';

/** A document that would grow beyond this size is not rewritten: many short links with a long prefix add up. */
const grownBytesMax = 16 * 1024 * 1024;

/** A tag with more attributes than this is malformed, and the rest of the document is not parsed. */
const attributesMax = 1_000;
/** Steps (some microseconds each) before yielding to the event loop. */
const stepsPerTurn = 1_000;

/** By tag, the attributes whose value is a URL. */
const urlAttributes = new Map<string, ReadonlySet<string>>();
for (const [tags, attributes] of [
  ['a area base link', 'href'],
  ['audio embed script source', 'src'],
  ['applet', 'codebase'],
  ['blockquote del ins q', 'cite'],
  ['body', 'background'],
  ['button', 'formaction'],
  ['command', 'icon'],
  ['form', 'action'],
  ['frame iframe', 'longdesc src'],
  ['head', 'profile'],
  ['html', 'manifest'],
  ['img', 'longdesc src usemap'],
  ['input', 'src usemap formaction'],
  ['object', 'classid codebase data usemap'],
  ['video', 'poster src'],
] as const)
  for (const tag of tags.split(' ')) urlAttributes.set(tag, new Set(attributes.split(' ')));

/** Elements whose content is plain text up to their end tag. */
const textElements = new Set(
  'iframe noembed noframes noscript plaintext script style textarea title xmp'.split(' '),
);

/**
 * Rewrites a document. Markup is ASCII in every common encoding, so bytes are read as Latin-1: all other
 * bytes come out unchanged, whatever the encoding. Undefined when the document would become too large.
 */
export async function rewriteHtml(document: Buffer, rule: LinkRule): Promise<Buffer | undefined> {
  const rewriting = new Rewriting(document.toString('latin1'), rule);
  for (let steps = 0; rewriting.step(); steps++) {
    if (rewriting.size > grownBytesMax) return undefined;
    if (steps % stepsPerTurn === stepsPerTurn - 1) await setImmediate();
  }
  return Buffer.from(rewriting.text(), 'latin1');
}

class Rewriting {
  /** Size of the rewritten document so far. */
  size: number;
  /** Up to here the document has been copied to `out`. */
  #copied = 0;
  #at = 0;
  /**
   * The parser's state inside a script; undefined outside. Inside `<!--` in a script, an inner `<script>` has
   * its own end tag that does not end the outer one.
   */
  #script: 'plain' | 'comment' | 'inner' | undefined;
  readonly #out: string[] = [];

  constructor(
    private readonly document: string,
    private readonly rule: LinkRule,
  ) {
    this.size = document.length;
  }

  /** Parses up to the end of the next tag or comment; false when the text has no other. */
  step(): boolean {
    if (this.#script) this.#scriptMark(this.#script);
    else this.#markup();
    return this.#at < this.document.length;
  }

  /** The rewritten document. */
  text(): string {
    return `${this.#out.join('')}${this.document.slice(this.#copied)}`;
  }

  #markup(): void {
    const open = this.document.indexOf('<', this.#at);
    if (open < 0) return this.#giveUp();
    this.#at = open + 1;
    const next = this.document[this.#at];
    if (next === undefined) return;
    if (isLetter(next)) this.#startTag();
    else if (next === '/') this.#endTag();
    else if (next === '!') this.#declaration();
    else if (next === '?') this.#skipPast('>');
  }

  /** Leaves the rest of the document as it is. */
  #giveUp(): void {
    this.#at = this.document.length;
  }

  #skipPast(mark: string): void {
    const found = this.document.indexOf(mark, this.#at);
    if (found < 0) this.#giveUp();
    else this.#at = found + mark.length;
  }

  #declaration(): void {
    if (!this.document.startsWith('!--', this.#at)) return this.#skipPast('>');
    // `<!-->` and `<!--->` are whole comments: the dashes that open one may close it.
    const ending = />|->|--!?>/y;
    ending.lastIndex = this.#at + 3;
    if (ending.test(this.document) && ending.lastIndex <= this.#at + 5) {
      this.#at = ending.lastIndex;
      return;
    }
    const end = /--!?>/g;
    end.lastIndex = this.#at + 3;
    if (end.test(this.document)) this.#at = end.lastIndex;
    else this.#giveUp();
  }

  #endTag(): void {
    this.#at++;
    const next = this.document[this.#at];
    if (next === undefined) return this.#giveUp();
    // An end tag may hold attributes, and they may hold `>`.
    if (isLetter(next)) this.#tag();
    else this.#skipPast('>');
  }

  #startTag(): void {
    const tag = this.#tag();
    if (!tag) return;
    const wanted = urlAttributes.get(tag.name);
    if (wanted)
      for (const attribute of tag.attributes) if (wanted.has(attribute.name)) this.#rewrite(attribute);
    if (tag.name === 'plaintext') this.#giveUp();
    else if (tag.name === 'script') this.#script = 'plain';
    else if (textElements.has(tag.name)) this.#skipContent(tag.name);
  }

  #rewrite({ valueStart, valueEnd }: Attribute): void {
    const value = this.document.slice(valueStart, valueEnd);
    const quote = this.document[valueStart];
    const quoted = quote === '"' || quote === "'";
    const link = decodeReferences(quoted ? value.slice(1, -1) : value);
    let rewritten: string;
    try {
      rewritten = rewriteLink(link, this.rule);
    } catch (error) {
      // Not a valid URL: leave it alone.
      if (error instanceof LinkError) return;
      throw error;
    }
    if (rewritten === link) return;
    const replacement = `"${encodeReferences(rewritten)}"`;
    this.size += replacement.length - value.length;
    this.#out.push(this.document.slice(this.#copied, valueStart), replacement);
    this.#copied = valueEnd;
  }

  /** Parses a tag from its name to its `>`; undefined when the text ends inside it. */
  #tag(): { name: string; attributes: Attribute[] } | undefined {
    const { document } = this;
    const name = this.#until(tagNameEnd).toLowerCase();
    const attributes: Attribute[] = [];
    for (;;) {
      this.#until(notBetween);
      if (this.#at >= document.length) return undefined;
      if (document[this.#at] === '>') {
        this.#at++;
        return { name, attributes };
      }
      if (attributes.length >= attributesMax) {
        this.#giveUp();
        return undefined;
      }
      // An equals sign where a name should begin is part of the name.
      const nameStart = this.#at++;
      this.#until(attributeNameEnd);
      const attributeName = document.slice(nameStart, this.#at).toLowerCase();
      this.#until(notSpace);
      if (document[this.#at] !== '=') continue;
      this.#at++;
      this.#until(notSpace);
      const valueStart = this.#at;
      const quote = document[valueStart];
      if (quote === '"' || quote === "'") {
        this.#at++;
        this.#skipPast(quote);
        if (this.#at >= document.length) return undefined;
      } else this.#until(bareValueEnd);
      if (this.#at > valueStart) attributes.push({ name: attributeName, valueStart, valueEnd: this.#at });
    }
  }

  /** Moves to the first match, and returns the text before it. */
  #until(end: RegExp): string {
    const from = this.#at;
    end.lastIndex = from;
    const found = end.exec(this.document);
    this.#at = found ? found.index : this.document.length;
    return this.document.slice(from, this.#at);
  }

  #skipContent(name: string): void {
    const end = new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi');
    end.lastIndex = this.#at;
    const found = end.exec(this.document);
    if (found) this.#at = found.index;
    else this.#giveUp();
  }

  #scriptMark(state: 'plain' | 'comment' | 'inner'): void {
    const mark = /<!--|-->|<\/?script(?=[\t\n\f\r />])/gi;
    mark.lastIndex = this.#at;
    const found = mark.exec(this.document);
    if (!found) return this.#giveUp();
    this.#at = mark.lastIndex;
    const word = found[0].toLowerCase();
    if (word === '<!--') {
      if (state === 'plain') this.#script = 'comment';
      // The dashes that open a comment may close it.
      this.#at = found.index + 2;
    } else if (word === '-->') this.#script = 'plain';
    else if (word === '<script') this.#script = state === 'comment' ? 'inner' : state;
    else if (state === 'inner') this.#script = 'comment';
    else {
      this.#script = undefined;
      this.#at = found.index;
    }
  }
}

interface Attribute {
  /** In lower case. */
  readonly name: string;
  /** The value with its quotes. */
  readonly valueStart: number;
  readonly valueEnd: number;
}

const tagNameEnd = /[\t\n\f\r />]/g;
const notBetween = /[^\t\n\f\r /]/g;
const notSpace = /[^\t\n\f\r ]/g;
const attributeNameEnd = /[\t\n\f\r />=]/g;
const bareValueEnd = /[\t\n\f\r >]/g;

const isLetter = (char: string): boolean => /[A-Za-z]/.test(char);

// Character references. Only those of ASCII characters matter to a URL's structure; others are kept as they
// are, with a placeholder character that cannot occur in Latin-1 text.

const keptAmpersand = '\ue000';
const references: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  sol: '/',
  colon: ':',
  period: '.',
  quest: '?',
  num: '#',
  percnt: '%',
  equals: '=',
  commat: '@',
  lowbar: '_',
  Tab: '\t',
  NewLine: '\n',
};

const decodeReferences = (value: string): string =>
  value.replace(
    /&(?:#(\d{1,7});?|#[xX]([0-9a-fA-F]{1,6});?|([A-Za-z]{1,9});|(amp|lt|gt|quot)(?![=\w]))?/g,
    (whole, decimal?: string, hex?: string, named?: string, legacy?: string) => {
      const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : undefined;
      if (code !== undefined && code > 0 && code < 0x80) return String.fromCharCode(code);
      const name = named ?? legacy ?? '';
      if (Object.hasOwn(references, name)) return references[name]!;
      return whole === '&' ? keptAmpersand : keptAmpersand + whole.slice(1);
    },
  );

const escapes: Record<string, string> = {
  [keptAmpersand]: '&',
  '&': '&amp;',
  "'": '&#39;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  '\r': '&#13;',
};

const encodeReferences = (value: string): string =>
  value.replace(/[\ue000&'<>"\r]/g, (char) => escapes[char]!);
