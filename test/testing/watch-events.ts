/** The events of a watch, one after the other. */
export async function readEvents(url: string) {
  const abort = new AbortController();
  const response = await fetch(url, { signal: abort.signal });
  const events = lines(response.body as AsyncIterable<Uint8Array>);
  return {
    status: response.status,
    next: async (): Promise<unknown> => (await events.next()).value,
    /** All events until the watch ends. */
    rest: async (): Promise<unknown[]> => {
      const all: unknown[] = [];
      for (let one = await events.next(); !one.done; one = await events.next()) all.push(one.value);
      return all;
    },
    close: () => abort.abort(),
  };
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<unknown, void, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const parts = text.split('\n');
    text = parts.pop()!;
    for (const part of parts) if (part) yield JSON.parse(part);
  }
}
