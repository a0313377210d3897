/** Proves that metadata is found in the text of an object, whatever its strings contain. */
import { expect, test } from 'vitest';
import { managedSpan } from './managed-span.ts';
import { metadataText } from './metadata-text.ts';

const start = '{"kind":"K",';
const found = (metadata: object, rest = ',"spec":{"a":{}}}') => {
  const text = Buffer.from(`${start}"metadata":${JSON.stringify(metadata)}${rest}`);
  return metadataText(text, start.length)?.toString('utf8');
};

test('finds the end of the metadata', () => {
  for (const metadata of [
    {},
    { name: 'a' },
    { labels: { a: '}' }, annotations: { '{': '{{{', 'quote"': '\\', '\\"}': '"}"\\\\' } },
    { annotations: { ü: '🛶 } é' }, managedFields: [{ fieldsV1: { 'k:{"name":"a"}': {} } }] },
  ])
    for (const rest of [',"spec":{"a":{}}}', '}', '}\n'])
      expect(found(metadata, rest)).toBe(JSON.stringify(metadata));
});

test('finds nothing where none is', () => {
  const at = (text: string) => metadataText(Buffer.from(text), start.length);
  expect(at(`${start}"spec":{}}`)).toBeUndefined();
  expect(at(`${start}"metadata":null}`)).toBeUndefined();
  expect(at(`${start}"metadata":{"a":"b`)).toBeUndefined();
  expect(at(start)).toBeUndefined();
});

test('skips managed fields where they are known to be', () => {
  const managedFields = [{ manager: 'a', fieldsV1: { 'f:a"}': { '.': {} }, 'k:{"name":"}"}': {} } }];
  for (const rest of [',"spec":{"a":{}}}', '}', '}\n']) {
    const metadata = JSON.stringify({ name: 'a', labels: { b: '}' }, managedFields });
    const text = Buffer.from(`${start}"metadata":${metadata}${rest}`);
    const from = start.length + '"metadata":{'.length;
    const span = managedSpan(text, text.toString().trimEnd().length, from);
    expect(span).toBeDefined();
    expect(metadataText(text, start.length, span)?.toString()).toBe(metadata);
  }
});
