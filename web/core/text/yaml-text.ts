/** Values as YAML, for reading and comparing. Text that could be read as something else is quoted as in JSON. */
import type { Json } from '../objects.ts';

const plain = /^[A-Za-z_/][\w ./@-]*(?::[\w./@-]+)*$/;
const reserved = /^(?:true|false|null|yes|no|on|off|y|n|\.inf|\.nan)$/i;

export const yamlText = (value: Json): string => `${block(value, '').replace(/^\n/, '')}\n`;

/** The text after a key or dash: on the same line, or below it. */
function block(value: Json, indent: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return ' []';
    return value.map((item) => `\n${indent}-${inner(item, `${indent}  `)}`).join('');
  }
  if (value !== null && typeof value === 'object') {
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    if (keys.length === 0) return ' {}';
    return keys.map((key) => `\n${indent}${word(key)}:${below(value[key], indent)}`).join('');
  }
  return ` ${scalar(value, indent)}`;
}

/** Lists stand below their key without further indentation, as kubectl writes them. */
const below = (value: Json, indent: string): string =>
  Array.isArray(value) ? block(value, indent) : block(value, `${indent}  `);

/** An item of a list: a map begins on the line of its dash. */
function inner(item: Json, indent: string): string {
  const text = block(item, indent);
  const begins = `\n${indent}`;
  return text.startsWith(begins) && !Array.isArray(item) ? ` ${text.slice(begins.length)}` : text;
}

function scalar(value: Json, indent: string): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null';
  if (value.includes('\n') && /^[^\s][^\r\t]*$/.test(value) && !/ \n/.test(value)) {
    const mark = value.endsWith('\n') ? (value.endsWith('\n\n') ? '|+' : '|') : '|-';
    const lines = value.replace(/\n$/, '').split('\n');
    return `${mark}\n${lines.map((line) => (line ? `${indent}${line}` : '')).join('\n')}`;
  }
  return word(value);
}

const word = (text: string): string =>
  plain.test(text) && !reserved.test(text) && !text.endsWith(' ') ? text : JSON.stringify(text);
