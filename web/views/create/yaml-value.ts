/**
 * The value of a YAML text, for forms. It is read off the syntax tree that the editor has anyway. Words mean what they
 * mean to the server, which reads YAML 1.1. What a form could not give back as it was is refused with its line: several
 * documents, aliases, tags, keys that are no text, numbers that JavaScript would round.
 */
import { yamlLanguage } from '@codemirror/lang-yaml';
import type { Json } from '../../core/objects.ts';

type Tree = ReturnType<typeof yamlLanguage.parser.parse>;
type SyntaxNode = Tree['topNode'];

/** Maximum nesting of maps and lists. */
const depthMax = 100;

class YamlValueError extends Error {
  constructor(
    readonly what: string,
    readonly line: number,
  ) {
    super(`line ${line}: ${what}`);
  }
}

/** Throws YamlValueError. */
export function yamlValue(text: string): Json {
  return new YamlReader(text).read();
}

class YamlReader {
  constructor(private readonly text: string) {}

  read(): Json {
    const tree = yamlLanguage.parser.parse(this.text);
    tree.iterate({
      enter: ({ type, node }) => {
        if (type.isError) throw this.#error('this is not YAML', node);
      },
    });
    const stream = tree.topNode;
    const documents = childrenOf(stream).filter((node) => partsOf(node).length > 0);
    if (documents.length > 1) throw this.#error('there is more than one object', documents[1]!);
    const [document] = documents;
    return document ? this.#value(partsOf(document)[0]!, 0) : undefined;
  }

  #value(node: SyntaxNode | undefined, depth: number): Json {
    if (!node) return null;
    if (depth > depthMax) throw this.#error('this is too deep', node);
    switch (node.name) {
      case 'BlockMapping':
      case 'FlowMapping':
        return Object.fromEntries(partsOf(node).map((pair) => this.#pair(pair, depth)));
      case 'BlockSequence':
        return this.#blockItems(node, depth);
      case 'FlowSequence':
        return partsOf(node).map((item) => this.#value(partsOf(item)[0], depth + 1));
      case 'Literal':
        return this.#plain(node);
      case 'QuotedLiteral':
        return this.#quoted(node);
      case 'BlockLiteral':
        return this.#block(node);
      default:
        throw this.#error(`${node.name} cannot be shown`, node);
    }
  }

  #pair(pair: SyntaxNode, depth: number): [string, Json] {
    const key = pair.name === 'Pair' ? pair.getChild('Key') : null;
    const name = key && this.#value(partsOf(key)[0], depth);
    if (!key || (typeof name !== 'string' && typeof name !== 'number'))
      throw this.#error('this is no field with a name', pair);
    const value = partsOf(pair).find((part) => part.name !== 'Key');
    return [String(name), this.#value(value, depth + 1)];
  }

  /** The items of a list; a dash without content has no node in the tree. */
  #blockItems(node: SyntaxNode, depth: number): Json[] {
    const items: Json[] = [];
    for (const part of childrenOf(node)) {
      if (part.name === '-') items.push(null);
      else if (part.name === 'Item') items[items.length - 1] = this.#value(partsOf(part)[0], depth + 1);
    }
    return items;
  }

  #plain(node: SyntaxNode): Json {
    const text = this.#textOf(node).replace(/\s*\n\s*/g, ' ');
    if (/^(?:~|null|Null|NULL)?$/.test(text)) return null;
    if (/^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/.test(text)) return true;
    if (/^(?:n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/.test(text)) return false;
    const isDecimal = /^-?(?:0|[1-9]\d*)$/.test(text) || /^-?\d+\.\d+(?:[eE][-+]?\d+)?$/.test(text);
    if (isDecimal && (Number.isSafeInteger(Number(text)) || text.includes('.'))) return Number(text);
    if (/^[-+]?\.?\d[\dxXoObBa-fA-F.eE+-]*$/.test(text) && isNumberToServer(text))
      throw this.#error(
        'a form would write this number in another way; put it in quotes if it is text',
        node,
      );
    return text;
  }

  #quoted(node: SyntaxNode): string {
    const text = this.#textOf(node);
    if (text.includes('\n')) throw this.#error('text in quotes over several lines', node);
    if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
    try {
      return JSON.parse(text);
    } catch {
      throw this.#error('text with escapes that JSON does not have', node);
    }
  }

  /** `|` keeps lines, `>` joins them; `-` and `+` say what becomes of line ends behind the last line. */
  #block(node: SyntaxNode): string {
    const header = this.#textOf(node.getChild('BlockLiteralHeader')!);
    const content = node.getChild('BlockLiteralContent');
    if (!/^[|>][+-]?$/.test(header)) throw this.#error('a block with a given indentation', node);
    if (!content) return '';
    const lines = this.#textOf(content).replace(/^\n/, '').split('\n');
    const indent = Math.min(...lines.filter((line) => line.trim()).map((line) => line.search(/\S/)));
    const cut = lines.map((line) => line.slice(indent));
    if (header[0] === '>' && cut.some((line) => line === '' || /^\s/.test(line)))
      throw this.#error('a block that joins paragraphs', node);
    const body = cut.join(header[0] === '>' ? ' ' : '\n').replace(/\n+$/, '');
    if (header.endsWith('-')) return body;
    const ends = /^(?:[ \t]*(?:\n|$))*/.exec(this.text.slice(content.to))![0].split('\n').length - 1;
    return header.endsWith('+') ? `${body}${'\n'.repeat(ends)}` : `${body}\n`;
  }

  #textOf({ from, to }: SyntaxNode): string {
    return this.text.slice(from, to);
  }

  #error(what: string, { from }: SyntaxNode): YamlValueError {
    return new YamlValueError(what, this.text.slice(0, from).split('\n').length);
  }
}

/** Numbers in other bases and forms, which the server understands, too. */
const isNumberToServer = (text: string): boolean =>
  /^[-+]?(?:0[xX][\da-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|\d+)$/.test(text) ||
  /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text);

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) children.push(child);
  return children;
}

/** Child nodes without punctuation and comments. */
const partsOf = (node: SyntaxNode): SyntaxNode[] =>
  childrenOf(node).filter(({ name }) => /^[A-Z]/.test(name) && !notes.has(name));

const notes = new Set(['Comment', 'DirectiveEnd', 'DocumentEnd']);
