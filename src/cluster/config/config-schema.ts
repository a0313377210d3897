/** The JSON schema of `wherry.yaml`, with which editors complete and check it, made from the declarations of options. */
import type { ConfigForms, Form } from './config-file.ts';

export function configSchema({ flags, parts }: ConfigForms): object {
  const properties: Record<string, object> = {
    $schema: { type: 'string', description: 'where this schema is' },
  };
  for (const [key, form] of flags) properties[key] = flagSchema(form);
  for (const [key, { shape, says, text }] of parts) {
    const flag = flags.get(key);
    const schemas = flag ? [flagSchema(flag), shape.schema] : [shape.schema];
    const description = plain(says ?? text ?? '');
    properties[key] = schemas.length === 1 ? { ...schemas[0], description } : { description, anyOf: schemas };
  }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'wherry.yaml',
    description: 'Options of a cluster of Wherry, by the names of its flags.',
    type: 'object',
    additionalProperties: false,
    properties,
  };
}

const plain = (text: string): string => text.trim().replace(/\s+/g, ' ');

function flagSchema(form: Form): object {
  const { text, value, shown = value.shown, default: usual } = form;
  const description = plain(`${text}${usual === undefined ? '' : ` (default ${usual})`}`);
  return { description, ...valueSchema(value, shown) };
}

function valueSchema({ form, completes, joins }: Form['value'], shown: string): object {
  if (form === 'switch' || form === 'truth') return { type: 'boolean' };
  const scalar =
    typeof completes === 'object' && form === 'text'
      ? { enum: wordsOf(completes) }
      : { type: scalarTypes(shown) };
  if (form === 'text' && joins === undefined) return scalar;
  return { anyOf: [scalar, { type: 'array', items: { type: 'string' } }] };
}

/** Words as they are and, where readers of YAML take them for numbers or truths, as these. */
const wordsOf = (words: readonly string[]): readonly unknown[] =>
  words.flatMap((word): unknown[] => {
    if (/^\d+$/.test(word)) return [word, Number(word)];
    return word === 'on' ? [word, true] : word === 'off' ? [word, false] : [word];
  });

const scalarTypes = (shown: string): readonly string[] =>
  shown === 'FILE' || shown === 'FOLDER' ? ['string', 'boolean'] : ['string', 'number', 'boolean'];
