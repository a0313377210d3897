/**
 * Long answers: lists of any size, built and sent part by part under back-pressure. The whole text is never in
 * memory, and a part takes a few milliseconds, after which other work can run.
 */
import { Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { Model } from '../../api/model/model.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { turnToAnswer } from '../../time-slices.ts';
import { Pace } from '../wire/pace.ts';
import { acceptsGzip, answerBytes, answerValue, apiHeaders, gzipBytesMin, taken } from './answer.ts';
import type { RequestContext } from './context.ts';
import type { Negotiated } from './negotiation.ts';

/** Lists whose text is shorter are sent as a whole, which is faster. */
const wholeChars = 1024 * 1024;
/** Length of the pieces in which longer answers are sent. */
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

/** Answers with a value in the negotiated form, made in turns whether it is sent as a whole or in parts. */
export async function answerLong(
  context: RequestContext,
  code: number,
  value: LongValue,
  negotiated: Negotiated,
  model?: Model,
): Promise<void> {
  if (value.size === 0 || negotiated.format === 'protobuf')
    return answerValue(context, code, wholeValue(value), negotiated, model);
  const isYaml = negotiated.format === 'yaml';
  const texts = isYaml
    ? await yamlTexts(value)
    : context.pretty(negotiated)
      ? prettyTexts(value)
      : jsonTexts(value);
  const contentType = isYaml ? 'application/yaml' : 'application/json';
  const pace = new Pace();
  let begun = '';
  for (let next = texts.next(); !next.done; next = texts.next()) {
    begun += next.value;
    if (begun.length > wholeChars) {
      // To turn that much text into bytes takes a turn of its own.
      await pace.rest();
      return stream(context, code, slices(begun, texts), contentType);
    }
    const pause = pace.pause();
    if (pause) await pause;
    if (context.response.destroyed) return;
  }
  return answerBytes(context, code, [Buffer.from(begun)], contentType);
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
    Readable.from(inTurns(parts), { highWaterMark: 1 })
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
    await turnToAnswer();
  }
  response.end();
}

/**
 * The same parts, with a turn of the event loop between them: a fast reader would otherwise take them all in one turn.
 */
async function* inTurns(parts: Iterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  for (const part of parts) {
    yield part;
    await turnToAnswer();
  }
}

/** Joins the texts of items into buffers of a good size for one write, each built within one turn's time. */
function* slices(begun: string, texts: Iterable<string>): Generator<Buffer, void, undefined> {
  yield Buffer.from(begun);
  let slice = '';
  let pace = new Pace();
  for (const text of texts) {
    slice += text;
    if (slice.length < sliceChars && !pace.isOver) continue;
    yield Buffer.from(slice);
    slice = '';
    pace = new Pace();
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
async function yamlTexts(value: LongValue): Promise<Generator<string, void, undefined>> {
  const { writeYaml, yamlParts } = await import('../../api/text/yaml-writing.ts');
  const { head, field, size, item } = value;
  const part = (chosen: (key: string) => boolean): string => {
    const fields = Object.entries(head).filter(([key]) => chosen(key));
    return fields.length ? writeYaml(Object.fromEntries(fields)) : '';
  };
  function* itemTexts(one: unknown): Generator<string, void, undefined> {
    let name = `${field}:\n`;
    for (const text of yamlParts({ [field]: [one] })) {
      yield name ? text.slice(name.length) : text;
      name = '';
    }
  }
  function* texts(): Generator<string, void, undefined> {
    yield part((key) => key < field);
    yield `${field}:\n`;
    for (let i = 0; i < size; i++) yield* itemTexts(item(i));
    yield part((key) => key > field);
  }
  return texts();
}
