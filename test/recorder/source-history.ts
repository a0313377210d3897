/** The history of a resource as a server tells it, event by event, for comparing that of a cluster with its recording. */

export interface ToldEvent {
  readonly type: string;
  readonly object: any;
}

export const call = async (url: string, method: string, where: string, body?: object): Promise<any> => {
  const answer = await fetch(url + where, {
    method,
    headers: {
      'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok)
    throw Object.assign(new Error(`${method} ${where}: ${await answer.text()}`), { code: answer.status });
  return answer.json();
};

/** Follows a resource from a version on, until it is closed. */
export class ToldHistory {
  readonly events: ToldEvent[] = [];
  readonly #ending = new AbortController();
  readonly #done: Promise<void>;

  constructor(url: string, where: string, version: string) {
    this.#done = this.#read(`${url}${where}?watch=true&resourceVersion=${version}`);
  }

  async #read(url: string): Promise<void> {
    try {
      const answer = await fetch(url, { signal: this.#ending.signal });
      let rest = '';
      for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop()!;
        for (const line of lines) if (line) this.events.push(JSON.parse(line) as ToldEvent);
      }
    } catch (error) {
      if (!this.#ending.signal.aborted) throw error;
    }
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#done;
  }
}

/** Events without versions, which are those of each server. */
export const unversioned = (events: readonly ToldEvent[]): unknown[] =>
  events.map(({ type, object: { metadata, ...object } }) => {
    const { resourceVersion: _, ...rest } = metadata;
    return { type, object: { ...object, metadata: rest } };
  });

/** The events of a resource that a recording has, from the beginning of its history on. */
export async function recordedEvents(url: string, where: string, count: number): Promise<ToldEvent[]> {
  const { oldest } = await call(url, 'GET', '/wherry/history');
  const told = new ToldHistory(url, where, oldest);
  try {
    await until(() => told.events.length >= count);
    return told.events;
  } finally {
    await told.close();
  }
}

/** Waits until something holds. */
export async function until(
  holds: () => unknown | Promise<unknown>,
  what = 'what was awaited',
): Promise<void> {
  for (let left = 500; !(await holds()); left--) {
    if (left === 0) throw new Error(`${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
