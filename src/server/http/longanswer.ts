/**
 * Long answers: lists of any size, made part by part at the pace the client reads. None is ever whole in memory, and
 * making a part takes a few milliseconds, after which others get their turn.
 */
import { Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { jsonText } from '../../api/jsontext.ts';
import { acceptsGzip, answerValue, apiHeaders, drained, gzipBytesMin } from './answer.ts';
import type { ApiResponse, RequestContext } from './context.ts';
import type { Negotiated } from './negotiation.ts';

/** Up to here a list is made whole: it is quicker. */
const wholeItemsMax = 1_000;
/** Items that are made in one go. */
const sliceItems = 100;
const sliceChars = 256 * 1024;

/** An object whose last field is a long list, with items that are made when it is their turn. */
export interface LongValue {
  readonly head: Readonly<Record<string, unknown>>;
  readonly field: 'items' | 'rows';
  readonly size: number;
  item(index: number): unknown;
}

/** Answers with JSON text of a known length. */
export const answerParts = (
  context: RequestContext,
  code: number,
  parts: Iterable<Buffer>,
  length: number,
): Promise<void> => stream(context, code, parts, 'application/json', length);

/** Answers with a value in the form the client asked for. */
export async function answerLong(
  context: RequestContext,
  code: number,
  value: LongValue,
  negotiated: Negotiated,
): Promise<void> {
  if (value.size <= wholeItemsMax) {
    const list = Array.from({ length: value.size }, (_, i) => value.item(i));
    return answerValue(context, code, { ...value.head, [value.field]: list }, negotiated);
  }
  if (negotiated.format === 'yaml')
    return stream(context, code, slices(await yamlTexts(value)), 'application/yaml');
  const texts = context.pretty(negotiated) ? prettyTexts(value) : jsonTexts(value);
  return stream(context, code, slices(texts), 'application/json');
}

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
      if (!response.write(part)) await taken(response);
    }
    response.end();
    return;
  }
  response.writeHead(code, length === undefined ? headers : { ...headers, 'Content-Length': String(length) });
  for (const part of parts) {
    if (response.destroyed) return;
    if (!response.write(part)) await taken(response);
    await turn();
  }
  response.end();
}

/** A client that reads as fast as we write has taken a part before anybody else had a turn. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const taken = (response: ApiResponse): Promise<void> | undefined =>
  response.destroyed ? undefined : drained(response);

/** Texts of items, put together to what goes out at once. */
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

/** With two spaces for every level; a line feed inside a text is escaped, so all that are left end lines. */
function* prettyTexts({ head, field, size, item }: LongValue): Generator<string, void, undefined> {
  const end = '\n  ]\n}';
  yield JSON.stringify({ ...head, [field]: [0] }, null, 2).slice(0, -`\n    0${end}`.length);
  for (let i = 0; i < size; i++)
    yield `${i ? ',' : ''}\n    ${jsonText(item(i), 2).replaceAll('\n', '\n    ')}`;
  yield end;
}

/** YAML sorts its keys, so some of the head may come behind the list. */
async function yamlTexts(value: LongValue): Promise<Iterable<string>> {
  const { writeYaml } = await import('../../api/yaml.ts');
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
