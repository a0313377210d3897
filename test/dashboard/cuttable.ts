/** A way to a server that tests can cut: all connections break, and no new ones are made until it is mended. */
import { connect, createServer, type Server, type Socket } from 'node:net';

export class CuttableWay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(target: URL) {
    this.#server = createServer((near) => {
      if (this.#isCut) return near.destroy();
      const far = connect(Number(target.port), target.hostname);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
  }

  static async open(target: string): Promise<CuttableWay> {
    const way = new CuttableWay(new URL(target));
    await new Promise<void>((resolve) => way.#server.listen(0, '127.0.0.1', resolve));
    return way;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
