/** What the audit policy records of one request: its rule, and the request and response objects. */
import { gunzipSync } from 'node:zlib';
import type { Kind } from '../../api/kind/kind.ts';
import { encodeObject } from '../../api/model/encode.ts';
import { type ApiObject, cloneJson, isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { readYaml } from '../../api/text/yaml.ts';
import type { AuditedRequest } from '../http/audited-request.ts';
import type { ApiResponse, HeaderFields } from '../http/context.ts';
import type { AuditRule } from './audit-policy.ts';

/** Longer objects are left out, and the event says so, as Kubernetes does with events that are too long. */
const objectBytesMax = 1024 * 1024;

export class AuditRecord implements AuditedRequest {
  /** JSON texts for the event; undefined when not wanted, not known yet, or too long. */
  #sent: string | undefined;
  #answer: AnswerCopy | undefined;
  #given: (() => unknown) | undefined;
  #isCut = false;
  /** The uid of the object that was sent. */
  uid: string | undefined;
  resourceVersion: string | undefined;
  /** Whether the server failed unexpectedly. */
  isBroken = false;

  constructor(readonly rule: AuditRule) {}

  get wantsRequest(): boolean {
    return this.rule.level === 'Request' || this.rule.level === 'RequestResponse';
  }

  /** Records the request body as it was sent. */
  takeValue(value: unknown): void {
    if (this.wantsRequest) this.#sent = this.#bounded(this.#text(value));
  }

  /** Records an object of a kind, in a copy with its defaults filled in. */
  takeObject(kind: Kind, object: ApiObject): void {
    this.uid = object.metadata.uid;
    this.resourceVersion = object.metadata.resourceVersion;
    if (!this.wantsRequest) return;
    const copy = cloneJson(object) as ApiObject;
    kind.defaults?.(copy);
    if (this.rule.omitManagedFields) copy.metadata.managedFields = undefined;
    this.#sent = this.#bounded(encodeObject(kind.model, copy as unknown as JsonObject));
  }

  /**
   * Records a protobuf answer from its value, because the bytes are not decoded again.
   * @param bytes size of the answer; `value` is not called when it is too large
   */
  takeAnswer(bytes: number, value: () => unknown): void {
    if (!this.#answer) return;
    if (bytes > objectBytesMax) this.#isCut = true;
    else this.#given = value;
  }

  /** Copies the bytes that are written to the response. */
  copyAnswer(response: ApiResponse): void {
    if (this.rule.level === 'RequestResponse') this.#answer = new AnswerCopy(response);
  }

  get requestText(): string | undefined {
    return this.#sent;
  }

  responseText(): string | undefined {
    if (this.#given) return this.#bounded(this.#text(this.#given()));
    const answered = this.#answer?.value();
    if (answered === tooLong) this.#isCut = true;
    return answered === undefined || answered === tooLong ? undefined : this.#text(answered);
  }

  /** Whether an object was left out; known when both texts have been asked for. */
  get isCut(): boolean {
    return this.#isCut;
  }

  #text(value: unknown): string {
    if (this.rule.omitManagedFields && isJsonObject(value)) {
      const items = Array.isArray(value.items) ? value.items : [];
      for (const object of [value, ...items]) forgetManagedFields(object);
    }
    return JSON.stringify(value);
  }

  #bounded(text: string): string | undefined {
    if (text.length <= objectBytesMax) return text;
    this.#isCut = true;
    return undefined;
  }
}

function forgetManagedFields(object: unknown): void {
  if (isJsonObject(object) && isJsonObject(object.metadata)) delete object.metadata.managedFields;
}

const tooLong = Symbol('too long');

/** The bytes of an answer, copied while they are sent. */
class AnswerCopy {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #type = '';
  #encoding = '';

  constructor(response: ApiResponse) {
    const writeHead = response.writeHead.bind(response);
    const write = response.write.bind(response);
    const end = response.end.bind(response);
    response.writeHead = (code: number, headers: HeaderFields) => {
      this.#type = headerOf(headers, 'content-type');
      this.#encoding = headerOf(headers, 'content-encoding');
      return writeHead(code, headers);
    };
    response.write = (bytes) => {
      this.#add(bytes);
      return write(bytes);
    };
    response.end = (bytes) => {
      if (bytes !== undefined) this.#add(bytes);
      return end(bytes);
    };
  }

  #add(bytes: Buffer | string): void {
    const chunk = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    this.#bytes += chunk.length;
    if (this.#bytes <= objectBytesMax) this.#chunks.push(chunk);
  }

  /** The object in the answer; undefined when the answer is not an object. */
  value(): unknown {
    const type = this.#type.split(';', 1)[0]!.trim();
    if (this.#bytes === 0 || (type !== 'application/json' && type !== 'application/yaml')) return undefined;
    if (this.#bytes > objectBytesMax) return tooLong;
    try {
      const text = this.#plain(Buffer.concat(this.#chunks)).toString('utf8');
      return type === 'application/json' ? JSON.parse(text) : readYaml(text).value;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return tooLong;
      // An incomplete answer is not an object.
      return undefined;
    }
  }

  #plain(bytes: Buffer): Buffer {
    return this.#encoding === 'gzip' ? gunzipSync(bytes, { maxOutputLength: objectBytesMax }) : bytes;
  }
}

function headerOf(headers: HeaderFields, name: string): string {
  const fields = Array.isArray(headers) ? pairs(headers) : Object.entries(headers);
  for (const [key, value] of fields) if (key.toLowerCase() === name) return String(value);
  return '';
}

function* pairs(list: readonly string[]): Generator<[string, string]> {
  for (let i = 0; i + 1 < list.length; i += 2) yield [list[i]!, list[i + 1]!];
}
