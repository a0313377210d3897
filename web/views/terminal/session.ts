/**
 * A terminal session: a command in a container, or the container's own process, over a WebSocket. It lives outside of
 * the view, so it goes on while the dashboard shows something else. Its states:
 *
 *   connecting → open      the server has accepted it
 *   open → ended           the command ended; the server says how
 *   open → lost            the connection broke; the text stays, and a new run begins when the server is back
 *   connecting → ended     the server refuses it, and says why
 *   lost → ended           new runs broke, too, as often as is tried
 *   any → closed           by the user
 */
import { signal } from '@preact/signals';
import type { FitAddon } from '@xterm/addon-fit';
import type { Terminal } from '@xterm/xterm';
import { ApiError, askText } from '../../core/api.ts';
import { connectionLost, pause } from '../../core/connection.ts';
import { openSocket } from '../../core/socket.ts';
import { theme } from '../../core/theme.ts';
import { makeTerminal, terminalTheme } from './xterm-host.ts';

/** The first byte of every message, which names its stream in the protocol. */
const channels = { input: 0, output: 1, errors: 2, outcome: 3, size: 4 } as const;
const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
/** Maximum number of runs in a row that break at once; the pauses between them grow. */
const failuresMax = 6;
const firstPauseMs = 500;
/** Characters that are kept while a terminal connects. */
const typedMax = 4_096;
/** A run that lasted this long counts as successful. */
const goodRunMs = 10_000;

export interface SessionWish {
  /** uid of the pod. */
  readonly pod: string;
  /** The path of the pod, to which `/exec` or `/attach` is added. */
  readonly path: string;
  readonly container: string;
  /** Undefined: attach to the process of the container. */
  readonly command: readonly string[] | undefined;
}

interface Outcome {
  readonly status?: string;
  readonly message?: string;
}

export class Session {
  readonly state = signal<'connecting' | 'open' | 'ended' | 'lost' | 'closed'>('connecting');
  readonly title: string;
  /** What is shown; moved into the view and out of it. */
  readonly element = document.createElement('div');
  readonly terminal: Terminal;
  readonly #fit: FitAddon;
  readonly #stopTheme: () => void;
  #socket: WebSocket | undefined;
  #failures = 0;
  /** What was typed while it connects; what was typed for a run that broke is not for the next one. */
  #typed = '';

  constructor(
    readonly id: number,
    readonly wish: SessionWish,
  ) {
    this.title = `${wish.container}${wish.command ? '' : ' (attached)'}`;
    const { terminal, fit } = makeTerminal();
    this.terminal = terminal;
    this.#fit = fit;
    this.element.className = 'sessionscreen';
    this.element.dataset.keys = 'own';
    // All other keys, Tab among them, are the program's.
    terminal.attachCustomKeyEventHandler(({ key, shiftKey }) => {
      const isLeaving = key === 'F6' && shiftKey;
      if (isLeaving) document.querySelector<HTMLElement>('.session.current button')?.focus();
      return !isLeaving;
    });
    terminal.onData((text) => this.#type(text));
    terminal.onResize(() => this.#sendSize());
    this.#stopTheme = theme.subscribe(() => {
      terminal.options.theme = terminalTheme();
    });
    this.connect();
  }

  /** Shows the terminal in an element of the dashboard. */
  show(place: HTMLElement): void {
    place.append(this.element);
    if (!this.terminal.element) this.terminal.open(this.element);
    this.fit();
    this.terminal.focus();
  }

  fit(): void {
    if (this.element.isConnected && this.element.clientHeight > 0) this.#fit.fit();
  }

  /** Runs it again, by the wish of the user. */
  again(): void {
    this.#failures = 0;
    this.connect();
  }

  connect(): void {
    const { path, container, command } = this.wish;
    const query = new URLSearchParams({ container, stdin: 'true', stdout: 'true', tty: 'true' });
    for (const word of command ?? []) query.append('command', word);
    const asked = `${path}/${command ? 'exec' : 'attach'}`;
    const socket = openSocket(asked, query, protocols);
    this.#socket = socket;
    this.state.value = 'connecting';
    this.#typed = '';
    let openedMs = Number.POSITIVE_INFINITY;
    socket.onopen = () => {
      openedMs = performance.now();
      this.state.value = 'open';
      this.#sendSize();
      if (this.#typed) this.#send(channels.input, this.#typed);
      // The program of an attached terminal draws nothing until something changes.
      if (!command) this.#note('attached; press Enter if nothing is shown');
    };
    socket.onmessage = ({ data }) => this.#receive(new Uint8Array(data as ArrayBuffer));
    socket.onclose = ({ code, reason }) => {
      // The connection of an earlier run may close late, and says nothing about this one.
      if (socket === this.#socket && performance.now() - openedMs > goodRunMs) this.#failures = 0;
      void this.#closed(socket, code, reason, `${asked}?${query}`);
    };
  }

  close(): void {
    this.state.value = 'closed';
    this.#socket?.close();
    this.#stopTheme();
    this.terminal.dispose();
    this.element.remove();
  }

  #receive(message: Uint8Array): void {
    const channel = message[0];
    const bytes = message.subarray(1);
    if (bytes.length === 0) return;
    if (channel === channels.output || channel === channels.errors) this.terminal.write(bytes);
    else if (channel === channels.outcome) this.#ended(new TextDecoder().decode(bytes));
  }

  #ended(text: string): void {
    this.state.value = 'ended';
    let outcome: Outcome = { message: text };
    try {
      outcome = JSON.parse(text);
    } catch {
      // Older servers send plain text.
    }
    this.#note(outcome.status === 'Success' ? 'ended' : (outcome.message ?? 'ended'));
  }

  async #closed(socket: WebSocket, code: number, reason: string, asked: string): Promise<void> {
    const before = this.state.value;
    if (socket !== this.#socket || before === 'ended' || before === 'closed') return;
    if (before === 'open' && code === 1000) return this.#end('ended');
    const why = before === 'connecting' ? await refusalOf(asked) : undefined;
    if (socket !== this.#socket || this.state.value === 'closed') return;
    if (why instanceof ApiError && !isUpgradeWanted(why)) return this.#end(why.message);
    this.state.value = 'lost';
    if (++this.#failures >= failuresMax)
      return this.#end(
        `given up after ${failuresMax} attempts: ${reason || why?.message || 'the connection breaks'}`,
      );
    this.#note(reason ? `the connection was lost: ${reason}` : 'the connection was lost');
    await pause(firstPauseMs * 2 ** (this.#failures - 1));
    // A server that has just said something is there.
    if (!(why instanceof ApiError)) await connectionLost();
    if (this.state.value !== 'lost') return;
    this.#note('connected again: this is a new run');
    this.connect();
  }

  #end(note: string): void {
    this.state.value = 'ended';
    this.#note(note);
  }

  /**
   * Writes a message of the dashboard, distinct from the program's output. It is plain text: a server's message may
   * contain anything.
   */
  #note(text: string): void {
    const plain = text.replace(/[\x00-\x1f\x7f-\x9f]/g, ' ');
    this.terminal.write(`\x1b[0m\r\n\x1b[3m— ${plain} —\x1b[0m\r\n`);
  }

  #type(text: string): void {
    if (this.state.value !== 'connecting') this.#send(channels.input, text);
    else if (this.#typed.length + text.length <= typedMax) this.#typed += text;
  }

  #sendSize(): void {
    const { cols, rows } = this.terminal;
    this.#send(channels.size, JSON.stringify({ Width: cols, Height: rows }));
  }

  #send(channel: number, text: string): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    const bytes = new TextEncoder().encode(text);
    const message = new Uint8Array(bytes.length + 1);
    message[0] = channel;
    message.set(bytes, 1);
    this.#socket.send(message);
  }
}

/** A WebSocket does not say why it was refused; a plain request is answered with the reason. */
const refusalOf = (asked: string): Promise<Error | undefined> =>
  askText(asked, { method: 'POST' }).then(
    () => undefined,
    (error: Error) => error,
  );

/** The server would have accepted a WebSocket. */
const isUpgradeWanted = ({ message }: ApiError): boolean => /pgrade/.test(message);
