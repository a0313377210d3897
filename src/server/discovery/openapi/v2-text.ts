/**
 * OpenAPI 2 as text, joined from texts that are kept for each version. A definition changes one version, so the paths
 * and schemas of all others are copied from the document before, and nothing is described or written anew. Between two
 * documents the texts are parts of the older one, so they take no memory of their own.
 *
 * With 300 definitions of 17 KB the document after one more took 710 ms of processor time, compressing included, and takes 90;
 * with the client and other work on two cores, 3.9 and 0.34 s.
 */
import { createHash } from 'node:crypto';
import type { ChosenMinor } from '../../../api/kind/chosen-minor.ts';
import type { KindTable } from '../../../api/kinds/kinds.ts';
import type { Descriptions } from '../../../api/model/descriptions.ts';
import type { Model } from '../../../api/model/model.ts';
import { jsonText } from '../../../api/text/json-text.ts';
import { givenInSlices } from '../../../registry/time-slices.ts';
import { ApiDocument } from '../../http/document.ts';
import { VersionCache } from '../version-cache.ts';
import type { Operation } from './operations.ts';
import { parameter } from './parameters.ts';
import { Definitions } from './schema.ts';
import { scheme } from './scheme.ts';
import { frameV2, parameterV2, pathsV2 } from './v2.ts';

/** Bytes that are hashed between two pauses, and about how many steps that takes. */
const hashedBytes = 1024 * 1024;
const hashedSteps = 50_000;

/** What a version adds to the document. */
interface VersionText {
  /** Its paths, with commas between them; empty if it has none. */
  paths: Buffer;
  /** The schemas that its paths refer to, by name; those of shared models are in several versions. */
  readonly schemas: Map<string, Buffer>;
  /** The models of these schemas. */
  readonly models: ReadonlyMap<string, Model>;
  /** Names of shared parameters. */
  readonly parameters: ReadonlySet<string>;
}

interface Kept {
  text?: VersionText | undefined;
  operations?: readonly Operation[];
}

export class TextV2 {
  readonly #versions: VersionCache<Kept>;

  constructor(
    kinds: KindTable,
    private readonly operationsOf: (apiVersion: string) => readonly Operation[],
    private readonly minor: ChosenMinor | undefined,
  ) {
    this.#versions = new VersionCache(kinds);
  }

  /**
   * The document of these versions; undefined when two of their models would have the same name, so that the document
   * has to be made as a whole.
   */
  async document(
    apiVersions: readonly string[],
    descriptions: Descriptions,
  ): Promise<ApiDocument | undefined> {
    // What is described is read at once: the table of kinds may change while the texts are made.
    const all = apiVersions.map((apiVersion) => {
      const kept = this.#versions.get(apiVersion, () => ({}))!;
      if (!kept.text) kept.operations ??= this.operationsOf(apiVersion);
      return { apiVersion, kept };
    });
    const texts: VersionText[] = [];
    for (const { apiVersion, kept } of all) {
      if (!kept.text) {
        const { operations = [] } = kept;
        kept.text = await givenInSlices(versionText(apiVersion, operations, descriptions, this.minor));
        if (!kept.text) return undefined;
        delete kept.operations;
      }
      texts.push(kept.text);
    }
    return givenInSlices(joined(texts, this.minor));
  }
}

/** Undefined when two models of the version have the same name. */
function* versionText(
  apiVersion: string,
  operations: readonly Operation[],
  descriptions: Descriptions,
  minor: ChosenMinor | undefined,
): Generator<number, VersionText | undefined> {
  const definitions = new Definitions('v2', descriptions, scheme, minor);
  const { paths, shared } = yield* pathsV2(new Map([[apiVersion, operations]]), definitions);
  if (definitions.hasRenamed) return undefined;
  const schemas = new Map<string, Buffer>();
  for (const [name, schema] of Object.entries(definitions.schemas)) {
    const text = Buffer.from(`${JSON.stringify(name)}:${jsonText(schema)}`);
    schemas.set(name, text);
    yield text.length;
  }
  const { models } = definitions;
  return { paths: Buffer.from(jsonText(paths).slice(1, -1)), schemas, models, parameters: shared };
}

function* joined(
  texts: readonly VersionText[],
  minor: ChosenMinor | undefined,
): Generator<number, ApiDocument | undefined> {
  const schemas = new Map<string, Buffer>();
  const models = new Map<string, Model | undefined>();
  for (const text of texts)
    for (const [name, schema] of text.schemas) {
      if (!schemas.has(name)) {
        schemas.set(name, schema);
        models.set(name, text.models.get(name));
      } else if (models.get(name) !== text.models.get(name)) return undefined;
    }
  yield texts.length;
  const names = [...schemas.keys()].sort((a, b) => (a < b ? -1 : 1));
  const shared = [...new Set(texts.flatMap(({ parameters }) => [...parameters]))].sort();
  const parameters = Object.fromEntries(shared.map((name) => [name, parameterV2(parameter(name))]));
  const frame = jsonText({ ...frameV2(minor), parameters });
  const [head, middle, end] = partsOf(frame);
  const bytes = Buffer.concat([
    head,
    ...separated(texts.map(({ paths }) => paths).filter(({ length }) => length > 0)),
    middle,
    ...separated(names.map((name) => schemas.get(name)!)),
    end,
  ]);
  yield hashedSteps;
  keepInside(bytes, texts, names, schemas, head.length, middle.length);
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += hashedBytes) {
    hash.update(bytes.subarray(at, at + hashedBytes));
    yield hashedSteps;
  }
  return new ApiDocument('application/json', bytes, hash.digest('hex').toUpperCase());
}

const comma = Buffer.from(',');
const separated = (parts: readonly Buffer[]): Buffer[] =>
  parts.flatMap((part, i) => (i === 0 ? [part] : [comma, part]));

/** The text before the paths, between these and the schemas, and behind those. */
function partsOf(frame: string): [Buffer, Buffer, Buffer] {
  const empty = '"paths":{},"definitions":{}';
  const at = frame.indexOf(empty);
  if (at < 0) throw new Error('the frame of the document has no place for paths and definitions');
  return [
    Buffer.from(`${frame.slice(0, at)}"paths":{`),
    Buffer.from('},"definitions":{'),
    Buffer.from(`}${frame.slice(at + empty.length)}\n`),
  ];
}

/** Lets the texts be parts of the document, so that the one before it can be collected. */
function keepInside(
  bytes: Buffer,
  texts: readonly VersionText[],
  names: readonly string[],
  schemas: ReadonlyMap<string, Buffer>,
  headBytes: number,
  middleBytes: number,
): void {
  let at = headBytes;
  for (const text of texts) {
    const { length } = text.paths;
    if (length === 0) continue;
    text.paths = bytes.subarray(at, at + length);
    at += length + 1;
  }
  at += middleBytes - 1;
  const places = new Map<string, Buffer>();
  for (const name of names) {
    const { length } = schemas.get(name)!;
    places.set(name, bytes.subarray(at, at + length));
    at += length + 1;
  }
  for (const text of texts) for (const name of text.schemas.keys()) text.schemas.set(name, places.get(name)!);
}
