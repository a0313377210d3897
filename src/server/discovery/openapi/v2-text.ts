/**
 * OpenAPI 2 as text, joined from texts that are kept for each version. A definition changes one version, so the paths
 * and schemas of all others are those of the document before, and nothing is described or written anew. A long document
 * is compressed group by group, so that only those that have changed are compressed again, and put together only for
 * clients who want it plain.
 *
 * With 300 definitions of 17 KB the document after one more took 710 ms of processor time, compressing included, and takes
 * 50, on a busy machine. There it took 80 and 70 MB more while it was always put together.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ChosenMinor } from '../../../api/kind/chosen-minor.ts';
import type { KindTable } from '../../../api/kinds/kinds.ts';
import type { Descriptions } from '../../../api/model/descriptions.ts';
import type { Model } from '../../../api/model/model.ts';
import { jsonText } from '../../../api/text/json-text.ts';
import { computed, givenInSlices, turnToCompute } from '../../../time-slices.ts';
import { ApiDocument, longBytes } from '../../http/document.ts';
import { compressedBlocks, gzipEnd, gzipHead, storedBlock } from '../../http/gzip-blocks.ts';
import { VersionCache } from '../version-cache.ts';
import type { Operation } from './operations.ts';
import { parameter } from './parameters.ts';
import { Definitions } from './schema.ts';
import { scheme } from './scheme.ts';
import { frameV2, parameterV2, pathsV2 } from './v2.ts';

/** Bytes that are hashed between two pauses, and about how many steps that takes. */
const hashedBytes = 512 * 1024;
const hashedSteps = 25_000;

/** Steps that it takes to work out what an operation is. */
const operationSteps = 1_000;

/** A part of the document that stays the same from one document to the next. */
interface Piece {
  readonly bytes: Buffer;
  /** Pieces that follow each other with the same name here are compressed together. */
  readonly run: string;
}

/** Compressed pieces. */
interface Run {
  readonly pieces: readonly Piece[];
  readonly blocks: Buffer;
}

/** What a version adds to the document. */
interface VersionText {
  /** Its paths, with commas between them; empty if it has none. */
  readonly paths: Piece;
  /** The schemas that its paths refer to, by name; those of shared models are in several versions. */
  readonly schemas: Map<string, Piece>;
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
  /** Those of the last long document, by their names. */
  #runs: ReadonlyMap<string, Run> = new Map();

  constructor(
    kinds: KindTable,
    private readonly operationsOf: (apiVersion: string) => readonly Operation[],
    private readonly minor: ChosenMinor | undefined,
    /** Longer documents are compressed in runs. */
    private readonly wholeBytesMax = longBytes,
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
    // What is described of a version is read at once: the table of kinds may change while the texts are made.
    const all: { apiVersion: string; kept: Kept }[] = [];
    for (const apiVersion of apiVersions) {
      const kept = this.#versions.get(apiVersion, () => ({}))!;
      all.push({ apiVersion, kept });
      if (kept.text || kept.operations) continue;
      kept.operations = this.operationsOf(apiVersion);
      computed(kept.operations.length * operationSteps);
      await turnToCompute();
    }
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
    const pieces = joined(texts, this.minor);
    if (!pieces) return undefined;
    const { hash, sum, length } = await givenInSlices(summed(pieces));
    const compress = async (): Promise<Buffer> => {
      const runs = await compressed(pieces, this.#runs);
      this.#runs = new Map(runs.map((run) => [run.pieces[0]!.run, run]));
      const end = [storedBlock(Buffer.alloc(0), true), gzipEnd(sum, length)];
      return Buffer.concat([gzipHead, ...runs.map(({ blocks }) => blocks), ...end]);
    };
    return new ApiDocument(
      'application/json',
      pieces.map(({ bytes }) => bytes),
      hash,
      length > this.wholeBytesMax ? compress : undefined,
    );
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
  const schemas = new Map<string, Piece>();
  for (const [name, schema] of Object.entries(definitions.schemas)) {
    const bytes = Buffer.from(`${JSON.stringify(name)}:${jsonText(schema)}`);
    schemas.set(name, { bytes, run: name.slice(0, name.lastIndexOf('.')) });
    yield bytes.length;
  }
  const { models } = definitions;
  const texts: string[] = [];
  for (const [path, described] of Object.entries(paths)) {
    const text = `${JSON.stringify(path)}:${jsonText(described)}`;
    texts.push(text);
    yield text.length;
  }
  const bytes = Buffer.from(texts.join(','));
  return { paths: { bytes, run: `paths of ${apiVersion}` }, schemas, models, parameters: shared };
}

/** The pieces of the document; undefined when two models have the same name. */
function joined(texts: readonly VersionText[], minor: ChosenMinor | undefined): readonly Piece[] | undefined {
  const schemas = new Map<string, Piece>();
  const models = new Map<string, Model | undefined>();
  for (const text of texts)
    for (const [name, schema] of text.schemas) {
      const known = schemas.get(name);
      if (!known) {
        schemas.set(name, schema);
        models.set(name, text.models.get(name));
      } else if (models.get(name) !== text.models.get(name)) return undefined;
      else text.schemas.set(name, known);
    }
  const names = [...schemas.keys()].sort((a, b) => (a < b ? -1 : 1));
  const shared = [...new Set(texts.flatMap(({ parameters }) => [...parameters]))].sort();
  const parameters = Object.fromEntries(shared.map((name) => [name, parameterV2(parameter(name))]));
  const frame = jsonText({ ...frameV2(minor), parameters });
  const [head, middle, end] = partsOf(frame);
  return [
    { bytes: head, run: 'head' },
    ...separated(texts.map(({ paths }) => paths).filter((paths) => paths.bytes.length > 0)),
    { bytes: middle, run: 'middle' },
    ...separated(names.map((name) => schemas.get(name)!)),
    { bytes: end, run: 'end' },
  ];
}

/** Hash, CRC-32 and length of a document. Its pieces are copied to the same memory, because each call for one takes longer. */
function* summed(pieces: readonly Piece[]): Generator<number, { hash: string; sum: number; length: number }> {
  const together = Buffer.allocUnsafeSlow(hashedBytes);
  const hash = createHash('sha256');
  let [at, sum, length] = [0, 0, 0];
  const take = (bytes: Buffer): void => {
    hash.update(bytes);
    sum = crc32(bytes, sum);
    length += bytes.length;
  };
  for (const { bytes } of pieces) {
    if (at + bytes.length > hashedBytes) {
      take(together.subarray(0, at));
      at = 0;
      yield hashedSteps;
    }
    if (bytes.length > hashedBytes) take(bytes);
    else at += bytes.copy(together, at);
  }
  take(together.subarray(0, at));
  return { hash: hash.digest('hex').toUpperCase(), sum, length };
}

/** The runs of a document, one after the other: each takes a quarter of a megabyte while it is compressed. */
async function compressed(pieces: readonly Piece[], known: ReadonlyMap<string, Run>): Promise<Run[]> {
  const runs: Run[] = [];
  for (const own of runsOf(pieces)) {
    const before = known.get(own[0]!.run);
    const isSame =
      before?.pieces.length === own.length && own.every((piece, i) => piece === before.pieces[i]);
    const blocks = isSame
      ? before.blocks
      : await compressedBlocks(Buffer.concat(own.map(({ bytes }) => bytes)));
    runs.push({ pieces: own, blocks });
  }
  return runs;
}

/** A comma belongs to what is before it. */
function runsOf(pieces: readonly Piece[]): Piece[][] {
  const runs: Piece[][] = [];
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last && (piece === comma || piece.run === last[0]!.run)) last.push(piece);
    else runs.push([piece]);
  }
  return runs;
}

const comma: Piece = { bytes: Buffer.from(','), run: '' };
const separated = (parts: readonly Piece[]): Piece[] =>
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
