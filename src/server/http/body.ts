/** Request bodies: read under a bound on size and time, then parsed by their type. */
import { isUtf8 } from 'node:buffer';
import { badRequest, requestTimeout, StatusError, tooLarge, unknownFormat } from '../../api/errors/errors.ts';
import type { Model } from '../../api/model/model.ts';
import { JsonError } from '../../api/text/json.ts';
import { Pieces } from '../../pieces.ts';
import { type Input, summaryOf } from '../../registry/input.ts';
import { readSentJson } from '../../registry/sliced-json.ts';
import { Http2Request } from '../wire/http2-request.ts';
import { PlainRequest } from '../wire/plain-request.ts';
import { cutOff, cuts } from '../wire/refusal.ts';
import type { ApiRequest } from './context.ts';
import type { LimitKeeper } from './limits.ts';
import { protobufType } from './negotiation.ts';

const noBody = Buffer.alloc(0);

/** Takes in the bytes of a body as they arrive; false when there is no room for them. */
export type BodyTaker = (bytes: number) => boolean;

export function readBody(
  request: ApiRequest,
  keeper: LimitKeeper,
  take: BodyTaker = () => true,
): Buffer | Promise<Buffer> {
  const { limits } = keeper;
  const refuse = () => {
    keeper.reached('bodyBytesMax');
    return tooLarge(`limit is ${limits.bodyBytesMax}`);
  };
  const late = () => {
    keeper.reached('bodyTimeoutMs');
    return requestTimeout();
  };
  const announced = Number(request.headers['content-length'] ?? Number.NaN);
  if (announced > limits.bodyBytesMax) return Promise.reject(refuse());
  if (request instanceof PlainRequest) return request.body;
  if (request instanceof Http2Request && request.body) return request.body;
  if (announced === 0) return noBody;
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    const leave = (): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
    };
    const finish = (error: Error | undefined): void => {
      leave();
      if (error) reject(error);
      else resolve(pieces.whole());
    };
    const onData = (chunk: Buffer): void => {
      if (pieces.add(chunk) > limits.bodyBytesMax) finish(refuse());
      else if (!take(chunk.length)) finish(crowded());
    };
    const onEnd = (): void => finish(undefined);
    const onError = (): void => {
      leave();
      cuts.add(() => reject(cutOff()));
    };
    const onClose = onError;
    const timer = setTimeout(() => finish(late()), limits.bodyTimeoutMs);
    request.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
}

/** The error when too many bodies are arriving. Clients may retry: it is not about the request itself. */
export const crowded = (): StatusError =>
  new StatusError(
    429,
    'TooManyRequests',
    'too many request bodies are on their way, please try again later',
    {
      retryAfterSeconds: 1,
    },
  );

export type BodyFormat = 'json' | 'yaml' | 'protobuf';

export const applyType = 'application/apply-patch+yaml';
const yamlTypes = new Set(['application/yaml', 'text/yaml', 'application/x-yaml']);

/** The type of a Content-Type header, without its parameters. */
export const mediaType = (header = ''): string => header.replace(/;.*$/s, '').trim().toLowerCase();

/**
 * The format of a body. As in Kubernetes 1.0, any media type is accepted: all but YAML and protobuf are read as JSON.
 * Apply patches are refused here: as a plain body one would replace an object by a part of it.
 */
export function bodyFormat(contentType: string | undefined): BodyFormat {
  const type = mediaType(contentType);
  if (type === applyType)
    throw unknownFormat(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']);
  if (type === protobufType) return 'protobuf';
  return yamlTypes.has(type) ? 'yaml' : 'json';
}

/** Finds the model of a protobuf message by its apiVersion and kind. */
export type ModelFor = (apiVersion: string, kind: string) => Model | undefined;

/** The parsed body. `kind` is the expected kind, for error messages. */
export function parseBody(
  bytes: Buffer,
  format: BodyFormat,
  kind: string,
  modelFor: ModelFor,
): Input | Promise<Input> {
  if (format === 'protobuf' || (format === 'yaml' && bytes.length > 0))
    return parseForeign(bytes, format, kind, modelFor);
  const refused = (error: unknown): never => {
    if (!(error instanceof JsonError)) throw error;
    throw unrecognized(kind, `couldn't get version/kind; json parse error: ${error.message}`, bytes);
  };
  try {
    const input = readJsonInput(bytes);
    return input instanceof Promise ? input.catch(refused) : input;
  } catch (error) {
    return refused(error);
  }
}

async function parseForeign(
  bytes: Buffer,
  format: 'yaml' | 'protobuf',
  kind: string,
  modelFor: ModelFor,
): Promise<Input> {
  if (format === 'protobuf') {
    const { decodeProtobuf, ProtobufError } = await import('../../api/protobuf/protobuf.ts');
    try {
      const { apiVersion, kind: sent, value } = decodeProtobuf(bytes, modelFor);
      return { value: { ...value, kind: sent, apiVersion }, duplicates: [], sent: bytes };
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      throw unrecognized(kind, error.message, bytes);
    }
  }
  const { readYaml, YamlError } = await import('../../api/text/yaml.ts');
  try {
    if (!isUtf8(bytes)) throw new YamlError('invalid UTF-8');
    const { value, duplicates } = await readYaml(bytes.toString('utf8'));
    return { value, duplicates, sent: bytes };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw unrecognized(kind, `yaml parse error: ${error.message}`, bytes);
  }
}

export function readJsonInput(bytes: Buffer): Input | Promise<Input> {
  const read = readSentJson(bytes);
  return read instanceof Promise ? read.then((json) => ({ ...json, sent: bytes })) : { ...read, sent: bytes };
}

const unrecognized = (kind: string, why: string, bytes: Buffer): Error =>
  badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summaryOf(bytes)})`);
