/**
 * Negotiation: the form of an answer. JSON is the original; protobuf, YAML, tables and metadata-only objects are
 * derived from it. Entries of `Accept` are tried by quality, then in order.
 */
import { notAcceptable, unsupportedParameters } from '../../api/errors/errors.ts';
import type { Model } from '../../api/model/model.ts';

type Transform = 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
type Format = 'json' | 'yaml' | 'protobuf';

export interface Negotiated {
  readonly format: Format;
  readonly transform: Transform | undefined;
  /** apiVersion of the transformed object: `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`. */
  readonly transformVersion: string;
  readonly pretty: boolean;
}

/** Which answers of a path exist in protobuf: none, only metadata (custom kinds), or all. */
export type Messages = 'none' | 'metadata' | 'all';

/** Which answers exist in protobuf for a path that answers with objects of a kind. */
export const messagesOf = ({ model }: { readonly model: Model }): Messages =>
  model.hasMessage ? 'all' : 'metadata';

/** Maximum number of `Accept` entries that are tried. The length of the header is limited by the HTTP server. */
const entriesMax = 50;
/** Headers whose entries are cached, and the longest one in characters: clients send the same few. */
const cachedMax = 64;
const cachedCharsMax = 512;

export const protobufType = 'application/vnd.kubernetes.protobuf';
const formats = new Map<string, Format>([
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  [protobufType, 'protobuf'],
]);

const available = ['application/json', 'application/yaml'];
const availableForWatch = ['application/json;stream=watch'];

const plainJson: Negotiated = { format: 'json', transform: undefined, transformVersion: '', pretty: false };
const prettyJson: Negotiated = { ...plainJson, pretty: true };
const plainOther = {
  yaml: { ...plainJson, format: 'yaml' },
  protobuf: { ...plainJson, format: 'protobuf' },
} as const satisfies Record<string, Negotiated>;

export interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

/** @param tables false for objects that have no table */
export function negotiate(
  accept: string | undefined,
  messages: Messages,
  watching: boolean,
  tables = true,
): Negotiated {
  if (!accept || accept === '*/*' || accept === 'application/json') return plainJson;
  let known = false;
  for (const { type, parameters } of rangesOf(accept)) {
    if (type === '*/*') return plainJson;
    const format = formats.get(type);
    if (!format || (format === 'protobuf' && messages === 'none')) continue;
    known = true;
    if (format === 'yaml' && watching) continue;
    const chosen = chosenForm(parameters, format);
    if (chosen?.transform === 'Table' && !tables) continue;
    if (chosen && (format !== 'protobuf' || isMessage(chosen, messages))) return chosen;
  }
  throw refused(known, messages, watching);
}

/** Whether protobuf is possible; tables have no protobuf form. */
const isMessage = ({ transform }: Negotiated, messages: Messages): boolean =>
  transform ? transform !== 'Table' : messages === 'all';

function refused(known: boolean, messages: Messages, watching: boolean): Error {
  const more = messages === 'none' ? [] : [protobufType];
  if (!known) return notAcceptable([...available, ...more]);
  return unsupportedParameters(
    watching
      ? [...availableForWatch, ...more.map((type) => `${type};stream=watch`)]
      : [...available, ...more],
  );
}

/** The form that the parameters of an entry ask for, or undefined. */
function chosenForm(parameters: ReadonlyMap<string, string>, format: Format): Negotiated | undefined {
  const pretty = /^(1|t|true)$/i.test(parameters.get('pretty') ?? '');
  const as = parameters.get('as');
  if ((parameters.get('stream') ?? 'watch') !== 'watch') return undefined;
  if (as === undefined) {
    if (format === 'json') return pretty ? prettyJson : plainJson;
    return plainOther[format];
  }
  const version = parameters.get('v');
  if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined;
  if (as !== 'Table' && as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList')
    return undefined;
  return { format, transform: as, transformVersion: `meta.k8s.io/${version}`, pretty };
}

/** Whether errors are sent in protobuf: decided by the first entry that asks for an untransformed object. */
export function wantsProtobufErrors(accept: string | undefined): boolean {
  if (!accept?.includes(protobufType)) return false;
  for (const { type, parameters } of rangesOf(accept)) {
    const format = type === '*/*' ? 'json' : formats.get(type);
    if (format && !parameters.has('as')) return format === 'protobuf';
  }
  return false;
}

const cached = new Map<string, readonly MediaRange[]>();

function rangesOf(accept: string): readonly MediaRange[] {
  let ranges = cached.get(accept);
  if (!ranges) {
    ranges = parseAccept(accept);
    if (accept.length > cachedCharsMax) return ranges;
    if (cached.size >= cachedMax) cached.clear();
    cached.set(accept, ranges);
  }
  return ranges;
}

/** The entries of an `Accept` header, by preference. */
export function parseAccept(accept: string): MediaRange[] {
  const ranges: MediaRange[] = [];
  for (const part of accept.split(',').slice(0, entriesMax)) {
    const [type, ...rest] = part.split(';');
    const parameters = new Map<string, string>();
    for (const text of rest) {
      const equals = text.indexOf('=');
      if (equals > 0)
        parameters.set(
          text.slice(0, equals).trim().toLowerCase(),
          text
            .slice(equals + 1)
            .trim()
            .replace(/^"(.*)"$/, '$1'),
        );
    }
    const quality = Number(parameters.get('q') ?? 1);
    ranges.push({
      type: type!.trim().toLowerCase(),
      parameters,
      quality: Number.isFinite(quality) ? quality : 1,
    });
  }
  return ranges.filter((range) => range.quality > 0).sort((a, b) => b.quality - a.quality);
}

/** `pretty` in the query decides; otherwise browsers, curl and wget get indented text. */
export function wantsPretty(
  negotiated: Negotiated,
  pretty: string | undefined,
  userAgent: string | undefined,
): boolean {
  if (pretty !== undefined) return /^(1|t|true)$/i.test(pretty);
  return negotiated.pretty || (userAgent !== undefined && /^(curl|Wget|Mozilla\/5\.0)/.test(userAgent));
}
