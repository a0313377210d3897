/**
 * The documents that describe the API, by path. Each is built at its first request, from the current table of kinds,
 * and again after the table has changed. A document of one version is rebuilt only when that version has changed.
 */

import type { KindTable } from '../../../api/kinds/kinds.ts';
import { Descriptions } from '../../../api/model/descriptions.ts';
import { optimized } from '../../../switches.ts';
import { givenInSlices } from '../../../time-slices.ts';
import { ApiDocument } from '../../http/document.ts';
import type { Discovery } from '../discovery.ts';
import { prefixOf } from '../model-names.ts';
import { VersionCache } from '../version-cache.ts';
import { contractOperations } from './contract-operations.ts';
import { encodeV2 } from './gnostic.ts';
import { operationsIn } from './minor-operations.ts';
import { type Operation, operationsOf } from './operations.ts';
import { commonPages, pageOperation } from './page-operations.ts';
import { declaration, resourceListing, smallDeclaration } from './swagger12.ts';
import { type DocumentV2, documentV2 } from './v2.ts';
import { TextV2 } from './v2-text.ts';
import { documentV3 } from './v3.ts';

/**
 * Media type of the protobuf form in answers. It has a dot where requests have an `@`, because Go's parser refuses the
 * `@`.
 */
const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

type Built = Map<string, Promise<ApiDocument>>;

export class Documents {
  /** Documents that cover all versions, of one generation of the kind table. */
  readonly #whole: Built = new Map();
  #generation = 0;
  readonly #textV2: TextV2;
  readonly #v3: VersionCache<Built>;
  /** By the address of the server, which is part of Swagger 1.2 documents. */
  readonly #swagger12: VersionCache<Built>;

  constructor(
    private readonly discovery: Discovery,
    private readonly kinds: KindTable,
    /** Documents about paths outside the API, by name. */
    private readonly others: Readonly<Record<string, object>> = {},
  ) {
    this.#textV2 = new TextV2(kinds, (apiVersion) => this.#operationsV2(apiVersion), kinds.minor);
    this.#v3 = new VersionCache(kinds);
    this.#swagger12 = new VersionCache(kinds);
  }

  v2(): Promise<ApiDocument> {
    return this.#once(
      'v2',
      async () =>
        (optimized && (await this.#textV2.document(this.discovery.served(), await Descriptions.load()))) ||
        givenInSlices(ApiDocument.jsonInSlices(await this.#documentV2())),
    );
  }

  v2Protobuf(): Promise<ApiDocument> {
    return this.#once(
      'v2 protobuf',
      async () => new ApiDocument(protobufType, await givenInSlices(encodeV2(await this.#documentV2()))),
    );
  }

  /** Where the documents of version 3 are, each with the hash of its content. */
  v3Index(): Promise<ApiDocument> {
    return this.#once('v3', async () => {
      const paths: Record<string, { serverRelativeURL: string }> = {};
      for (const apiVersion of this.discovery.served()) {
        const name = prefixOf(apiVersion).slice(1);
        const document = await this.v3(name);
        paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${document!.hash}` };
      }
      for (const name of this.#pages())
        paths[name] = { serverRelativeURL: `/openapi/v3/${name}?hash=${(await this.v3(name))!.hash}` };
      // Documents of versions that other servers serve are forwarded from there, so they have no hash here.
      for (const apiVersion of this.discovery.servedElsewhere()) {
        const name = prefixOf(apiVersion).slice(1);
        paths[name] = { serverRelativeURL: `/openapi/v3/${name}` };
      }
      for (const name of Object.keys(this.others)) paths[name] = { serverRelativeURL: `/openapi/v3/${name}` };
      return ApiDocument.json({ paths });
    });
  }

  /** The document of a version by its path, `api/v1` or `apis/extensions/v1beta1`; undefined when it is not served. */
  async v3(name: string): Promise<ApiDocument | undefined> {
    if (Object.hasOwn(this.others, name)) return ApiDocument.json(this.others[name]!);
    if (this.#pages().includes(name))
      return this.#once(`v3 ${name}`, () => this.#documentV3('v1', false, this.#pageOperations([name])));
    const apiVersion = this.#apiVersionAt(name);
    if (apiVersion === undefined) return undefined;
    return built(this.#v3.get(apiVersion, () => new Map())!, '', () =>
      this.#documentV3(apiVersion, this.#isCustom(apiVersion), this.#operations(apiVersion)),
    );
  }

  async #documentV3(
    apiVersion: string,
    isCustom: boolean,
    operations: readonly Operation[],
  ): Promise<ApiDocument> {
    const describing = documentV3(
      apiVersion,
      isCustom,
      operations,
      await Descriptions.load(),
      this.kinds.minor,
    );
    return givenInSlices(ApiDocument.jsonInSlices(await givenInSlices(describing)));
  }

  #isCustom(apiVersion: string): boolean {
    return [...this.kinds.inVersion(apiVersion)].some(({ custom }) => custom);
  }

  /** Pages about the API itself: a minor of Kubernetes has documents about them, too. */
  #pages(): string[] {
    return this.kinds.minor ? [...commonPages, ...this.#groupPages().keys()] : [];
  }

  /** Pages of built-in groups, each with the first version of the group. */
  #groupPages(): Map<string, string> {
    const found = new Map<string, string>();
    for (const apiVersion of this.discovery.served()) {
      const page = `apis/${apiVersion.split('/')[0]}`;
      if (apiVersion.includes('/') && !found.has(page) && !this.#isCustom(apiVersion))
        found.set(page, apiVersion);
    }
    return found;
  }

  #pageOperations(names: readonly string[]): Operation[] {
    return operationsIn(this.kinds.minor!, names.map(pageOperation));
  }

  /** Version 2 has one document for all, so each page is described together with a version. */
  #operationsV2(apiVersion: string): Operation[] {
    const operations = this.#operations(apiVersion);
    if (!this.kinds.minor) return operations;
    const own = [...this.#groupPages()].filter(([, first]) => first === apiVersion).map(([page]) => page);
    return [...this.#pageOperations(apiVersion === 'v1' ? commonPages : own), ...operations];
  }

  /** The document of a path, '' for the listing; undefined for an unknown path. */
  async swagger12(path: string, basePath: string): Promise<ApiDocument | undefined> {
    if (path === '') return ApiDocument.json(resourceListing(this.#swaggerPaths()));
    if (!this.#swaggerPaths().includes(path)) return undefined;
    const apiVersion = this.#apiVersionAt(path.slice(1));
    if (apiVersion === undefined) return ApiDocument.json(smallDeclaration(path, basePath));
    const build = async (): Promise<ApiDocument> =>
      ApiDocument.json(
        declaration(
          apiVersion,
          [...this.#operations(apiVersion), ...contractOperations(apiVersion)],
          await Descriptions.load(),
          basePath,
        ),
      );
    return built(this.#swagger12.get(apiVersion, () => new Map())!, basePath, build);
  }

  #swaggerPaths(): string[] {
    const versions = this.discovery.served().map(prefixOf);
    const groups = versions
      .filter((path) => path.startsWith('/apis/'))
      .map((path) => path.replace(/\/[^/]+$/, ''));
    return [...versions, ...new Set(groups), '/api', '/apis', '/version'];
  }

  #apiVersionAt(name: string): string | undefined {
    return this.discovery.served().find((apiVersion) => prefixOf(apiVersion) === `/${name}`);
  }

  #operations(apiVersion: string): Operation[] {
    const operations = operationsOf(this.discovery, this.kinds, apiVersion);
    const { minor } = this.kinds;
    return minor ? operationsIn(minor, operations) : operations;
  }

  async #documentV2(): Promise<DocumentV2> {
    const operations = this.discovery
      .served()
      .map((apiVersion) => [apiVersion, this.#operationsV2(apiVersion)] as const);
    return givenInSlices(documentV2(new Map(operations), await Descriptions.load(), this.kinds.minor));
  }

  #once(key: string, build: () => Promise<ApiDocument>): Promise<ApiDocument> {
    const { generation } = this.discovery;
    if (this.#generation !== generation) this.#whole.clear();
    this.#generation = generation;
    return built(this.#whole, key, build);
  }
}

/** Builds a document unless it is cached; a failed build is repeated at the next request. */
function built(documents: Built, key: string, build: () => Promise<ApiDocument>): Promise<ApiDocument> {
  const known = documents.get(key);
  if (known) return known;
  const document = build();
  documents.set(key, document);
  document.catch(() => {
    if (documents.get(key) === document) documents.delete(key);
  });
  return document;
}
