/**
 * Long answers: lists of any size, built and sent part by part under back-pressure. The whole text is never in
 * memory, and a part takes a few milliseconds, after which other work can run.
 */
import { Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { Model } from '../../api/model/model.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { acceptsGzip, answerValue, apiHeaders, drained, gzipBytesMin } from './answer.ts';
import type { RequestContext } from './context.ts';
import type { Negotiated } from './negotiation.ts';

/** Shorter lists are built as a whole, which is faster. */
const wholeItemsMax = 1_000;
/** Items built per event loop tick. */
const sliceItems = 100;
const sliceChars = 256 * 1024;

/** An object whose last field is a long list, with items that are built lazily. */
export interface LongValue {
  readonly head: Readonly<Record<string, unknown>>;
  readonly field: 'items' | 'rows';
  readonly size: number;
  item(index: number): unknown;
}

/** Answers with bytes that are made part by part; the length may be unknown. */
export const answerParts = (
  context: RequestContext,
  code: number,
  parts: Iterable<Buffer>,
  length?: number,
  contentType = 'application/json',
): Promise<void> => stream(context, code, parts, contentType, length);

/** Answers with a value in the negotiated form. */
export async function answerLong(
  context: RequestContext,
  code: number,
  value: LongValue,
  negotiated: Negotiated,
  model?: Model,
): Promise<void> {
  if (value.size <= wholeItemsMax || negotiated.format === 'protobuf')
    return answerValue(context, code, wholeValue(value), negotiated, model);
  if (negotiated.format === 'yaml')
    return stream(context, code, slices(await yamlTexts(value)), 'application/yaml');
  const texts = context.pretty(negotiated) ? prettyTexts(value) : jsonTexts(value);
  return stream(context, code, slices(texts), 'application/json');
}

export const wholeValue = ({ head, field, size, item }: LongValue): Record<string, unknown> => ({
  ...head,
  [field]: Array.from({ length: size }, (_, i) => item(i)),
});

async function stream(
  context: RequestContext,
  code: number,
  parts: Iterable<Buffer>,
  contentType: string,
  length?: number,
): Promise<void> {
  const { response } = context;
  const headers = apiHeaders(context, contentType);
  if ((length ?? gzipBytesMin) >= gzipBytesMin && context.info.method === 'GET' && acceptsGzip(context)) {
    response.writeHead(code, { ...headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' });
    const zip = createGzip({ level: constants.Z_BEST_SPEED });
    Readable.from(parts, { highWaterMark: 1 })
      .on('error', (error) => zip.destroy(error))
      .pipe(zip);
    for await (const part of zip as AsyncIterable<Buffer>) {
      if (response.destroyed) return;
      if (!response.write(part)) await taken(context);
    }
    response.end();
    return;
  }
  response.writeHead(code, length === undefined ? headers : { ...headers, 'Content-Length': String(length) });
  for (const part of parts) {
    if (response.destroyed) return;
    if (!response.write(part)) await taken(context);
    await turn();
  }
  response.end();
}

/** Lets other work run between parts: for a client that reads fast, `drain` comes in the same tick. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Waits for the client, which holds no seat meanwhile: the parts that follow are paced by what it reads. */
function taken(context: RequestContext): Promise<void> | undefined {
  const { response } = context;
  if (response.destroyed) return undefined;
  context.leaveSeat();
  return drained(response);
}

/** Joins the texts of items to buffers of a suitable size for one write. */
function* slices(texts: Iterable<string>): Generator<Buffer, void, undefined> {
  let slice = '';
  let items = 0;
  for (const text of texts) {
    slice += text;
    if (++items < sliceItems && slice.length < sliceChars) continue;
    yield Buffer.from(slice);
    slice = '';
    items = 0;
  }
  if (slice) yield Buffer.from(slice);
}

function* jsonTexts({ head, field, size, item }: LongValue): Generator<string, void, undefined> {
  const end = ']}';
  yield JSON.stringify({ ...head, [field]: [] }).slice(0, -end.length);
  for (let i = 0; i < size; i++) yield `${i ? ',' : ''}${jsonText(item(i))}`;
  yield `${end}\n`;
}

/** Indents by two spaces per level. Line feeds inside JSON strings are escaped, so all others end lines. */
function* prettyTexts({ head, field, size, item }: LongValue): Generator<string, void, undefined> {
  const end = '\n  ]\n}';
  yield JSON.stringify({ ...head, [field]: [0] }, null, 2).slice(0, -`\n    0${end}`.length);
  for (let i = 0; i < size; i++)
    yield `${i ? ',' : ''}\n    ${jsonText(item(i), 2).replaceAll('\n', '\n    ')}`;
  yield end;
}

/** YAML keys are sorted, so some keys of the head come behind the list. */
async function yamlTexts(value: LongValue): Promise<Iterable<string>> {
  const { writeYaml } = await import('../../api/text/yaml.ts');
  const { head, field, size, item } = value;
  const part = (chosen: (key: string) => boolean): string => {
    const fields = Object.entries(head).filter(([key]) => chosen(key));
    return fields.length ? writeYaml(Object.fromEntries(fields)) : '';
  };
  function* texts(): Generator<string, void, undefined> {
    yield part((key) => key < field);
    yield `${field}:\n`;
    for (let i = 0; i < size; i++) yield writeYaml({ [field]: [item(i)] }).slice(`${field}:\n`.length);
    yield part((key) => key > field);
  }
  return texts();
}
