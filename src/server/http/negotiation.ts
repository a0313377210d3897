/**
 * Negotiation: the form of an answer. JSON is the original; YAML, tables and metadata-only objects are derived from
 * it. Entries of `Accept` are tried by quality, then in order.
 */
import { notAcceptable, unsupportedParameters } from '../../api/errors.ts';

type Transform = 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

export interface Negotiated {
  readonly format: 'json' | 'yaml';
  readonly transform: Transform | undefined;
  /** apiVersion of the transformed object: `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`. */
  readonly transformVersion: string;
  readonly pretty: boolean;
}

/** Entries of `Accept` that are tried. The length of the header is limited by the HTTP server. */
const entriesMax = 50;

const available: readonly string[] = ['application/json', 'application/yaml'];
const availableForWatch: readonly string[] = ['application/json;stream=watch'];

const plainJson: Negotiated = { format: 'json', transform: undefined, transformVersion: '', pretty: false };
const prettyJson: Negotiated = { ...plainJson, pretty: true };

export interface MediaRange {
  readonly type: string;
  readonly parameters: Map<string, string>;
  readonly quality: number;
}

export function negotiate(accept: string | undefined, watching: boolean): Negotiated {
  if (!accept || accept === '*/*' || accept === 'application/json') return plainJson;
  let known = false;
  for (const range of parseAccept(accept)) {
    if (range.type === '*/*' || range.type === 'application/*') {
      if (range.type === '*/*') return plainJson;
      continue;
    }
    const format =
      range.type === 'application/json' ? 'json' : range.type === 'application/yaml' ? 'yaml' : undefined;
    if (!format) continue;
    known = true;
    if (format === 'yaml' && watching) continue;
    const chosen = transformOf(range.parameters, format);
    if (chosen) return chosen;
  }
  throw known ? unsupportedParameters(watching ? availableForWatch : available) : notAcceptable(available);
}

function transformOf(parameters: Map<string, string>, format: 'json' | 'yaml'): Negotiated | undefined {
  const pretty = /^(1|t|true)$/i.test(parameters.get('pretty') ?? '');
  const as = parameters.get('as');
  if (as === undefined) {
    if (format === 'json') return pretty ? prettyJson : plainJson;
    return { ...plainJson, format };
  }
  const version = parameters.get('v');
  if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined;
  if (as !== 'Table' && as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList')
    return undefined;
  return { format, transform: as, transformVersion: `meta.k8s.io/${version}`, pretty };
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
