/** One request of the server itself to the kubelet API of a node. */
import { request } from 'node:http';
import { boundInterim } from '../../interim-answers.ts';
import { Pieces } from '../../pieces.ts';
import type { NodeConnector, NodeLocation } from '../../streams/dial/node-connector.ts';

/** An answer with another code than 200; the message is its text. */
export class NodeRefusal extends Error {
  override readonly name = 'NodeRefusal';

  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export interface NodeQuestion {
  readonly method?: string;
  readonly path: string;
  readonly answerMs: number;
  readonly answerBytesMax: number;
}

/** The JSON that the node answers with. Throws `NodeRefusal`, and errors of the connection. */
export const askNode = async (
  connections: NodeConnector,
  node: NodeLocation,
  question: NodeQuestion,
): Promise<unknown> => JSON.parse(await askNodeText(connections, node, question));

/** The text that the node answers with. */
export async function askNodeText(
  connections: NodeConnector,
  node: NodeLocation,
  question: NodeQuestion,
): Promise<string> {
  const connection = await connections.connect(node);
  const { method = 'GET', path, answerMs, answerBytesMax } = question;
  return new Promise((resolve, reject) => {
    const { host, port } = node;
    const headers = { Connection: 'close' };
    const sent = request({ createConnection: () => connection, host, port, method, path, headers });
    boundInterim(sent);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      sent.destroy();
      connection.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(new Error('no answer')), answerMs);
    sent.on('error', fail).on('response', (response) => {
      const pieces = new Pieces();
      response
        .on('data', (chunk: Buffer) => {
          if (pieces.add(chunk) > answerBytesMax) fail(new Error('the answer is too long'));
        })
        .on('error', fail)
        .on('end', () => {
          clearTimeout(timer);
          connection.destroy();
          const text = pieces.whole().toString('utf8');
          if (response.statusCode !== 200) reject(new NodeRefusal(response.statusCode ?? 0, text));
          else resolve(text);
        });
    });
    sent.end();
  });
}
