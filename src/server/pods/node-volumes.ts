/** Asks nodes, through their kubelet API, to make and remove the folders of volumes. */
import type { Node } from '../../api/generated/types.ts';
import type { NodeConnector } from '../../streams/dial/node-connector.ts';
import { locateNode } from './node-location.ts';
import { askNode, NodeRefusal } from './node-request.ts';

/** Timeout; removing a large volume takes a while. */
const answerMs = 60_000;
const answerBytesMax = 32 * 1024 * 1024;

export class NodeVolumes {
  constructor(private readonly connections: NodeConnector) {}

  /** Makes the folder of a volume below a folder that the storage class names. Returns its path. */
  async make(node: Node, name: string, under: string): Promise<string> {
    const query = new URLSearchParams({ under });
    const { path } = (await this.#ask(node, 'PUT', `/${encodeURIComponent(name)}?${query}`)) as {
      path?: unknown;
    };
    if (typeof path !== 'string')
      throw new Error(`node ${node.metadata.name} does not say where the volume is`);
    return path;
  }

  /** Removes the folder of a volume; with `onlyEmpty`, only if it is empty. */
  async remove(node: Node, name: string, path: string, onlyEmpty = false): Promise<void> {
    const query = new URLSearchParams({ path, ...(onlyEmpty ? { empty: 'true' } : {}) });
    await this.#ask(node, 'DELETE', `/${encodeURIComponent(name)}?${query}`);
  }

  /** Paths of the folders of volumes on a node. */
  async list(node: Node): Promise<string[]> {
    const { paths } = (await this.#ask(node, 'GET', '')) as { paths?: unknown };
    return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : [];
  }

  async #ask(node: Node, method: string, rest: string): Promise<object> {
    const question = { method, path: `/localvolumes${rest}`, answerMs, answerBytesMax };
    try {
      return ((await askNode(this.connections, locateNode(node), question)) ?? {}) as object;
    } catch (error) {
      if (error instanceof NodeRefusal && error.code === 404)
        throw new Error(`node ${node.metadata.name} makes no volumes`, { cause: error });
      throw error;
    }
  }
}
