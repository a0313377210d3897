/**
 * The documents that describe the API, by the path they are served at. Each is built when it is first asked for, from
 * the table of kinds as it is then, and anew when the table has grown since.
 */
import { Descriptions } from '../../../api/descriptions.ts';
import type { Kind } from '../../../api/kind.ts';
import type { KindTable } from '../../../api/kinds.ts';
import { ApiDocument } from '../../http/document.ts';
import type { Discovery } from '../discovery.ts';
import { encodeV2 } from './gnostic.ts';
import { prefixOf } from './names.ts';
import { type Operation, operationsOf } from './operations.ts';
import { declaration, resourceListing, smallDeclaration } from './swagger12.ts';
import { type DocumentV2, documentV2 } from './v2.ts';
import { documentV3 } from './v3.ts';

/**
 * The client asks with an `@` in the type's name; Go refuses that in an answer, so it is a dot here.
 */
const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

export class Documents {
  readonly #documents = new Map<string, Promise<ApiDocument | undefined>>();
  #kinds: readonly Kind[] = [];

  constructor(
    private readonly discovery: Discovery,
    private readonly kinds: KindTable,
  ) {}

  v2(): Promise<ApiDocument> {
    return this.#once('v2', async () => ApiDocument.json(await this.#documentV2())) as Promise<ApiDocument>;
  }

  v2Protobuf(): Promise<ApiDocument> {
    return this.#once(
      'v2 protobuf',
      async () => new ApiDocument(protobufType, encodeV2(await this.#documentV2())),
    ) as Promise<ApiDocument>;
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
      return ApiDocument.json({ paths });
    }) as Promise<ApiDocument>;
  }

  /** By `api/v1` or `apis/extensions/v1beta1`; undefined when that is not served. */
  v3(name: string): Promise<ApiDocument | undefined> {
    return this.#once(`v3 ${name}`, async () => {
      const apiVersion = this.#apiVersionAt(name);
      if (apiVersion === undefined) return undefined;
      return ApiDocument.json(
        documentV3(apiVersion, this.#operations(apiVersion), await Descriptions.load()),
      );
    });
  }

  /** By the path of what is declared, '' for the listing; undefined when there is none. */
  async swagger12(path: string, basePath: string): Promise<ApiDocument | undefined> {
    if (path === '') return ApiDocument.json(resourceListing(this.#swaggerPaths()));
    if (!this.#swaggerPaths().includes(path)) return undefined;
    const apiVersion = this.#apiVersionAt(path.slice(1));
    if (apiVersion === undefined) return ApiDocument.json(smallDeclaration(path, basePath));
    return this.#once(`swagger ${path} ${basePath}`, async () =>
      ApiDocument.json(
        declaration(apiVersion, this.#operations(apiVersion), await Descriptions.load(), basePath),
      ),
    );
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
    return operationsOf(this.discovery, this.kinds, apiVersion);
  }

  async #documentV2(): Promise<DocumentV2> {
    const operations = this.discovery
      .served()
      .map((apiVersion) => [apiVersion, this.#operations(apiVersion)] as const);
    return documentV2(new Map(operations), await Descriptions.load());
  }

  /** Builds a document unless it is there; one that could not be built is tried again next time. */
  #once(key: string, build: () => Promise<ApiDocument | undefined>): Promise<ApiDocument | undefined> {
    this.#forgetIfGrown();
    let document = this.#documents.get(key);
    if (!document) {
      document = build();
      this.#documents.set(key, document);
      const made = document;
      const forget = (): void => {
        if (this.#documents.get(key) === made) this.#documents.delete(key);
      };
      // What is not served must not be kept either: anyone can ask for anything.
      document.then((value) => value ?? forget(), forget);
    }
    return document;
  }

  #forgetIfGrown(): void {
    const kinds = [...this.kinds];
    if (kinds.length === this.#kinds.length && kinds.every((kind, i) => kind === this.#kinds[i])) return;
    this.#kinds = kinds;
    this.#documents.clear();
  }
}
