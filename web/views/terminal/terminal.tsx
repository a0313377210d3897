/** Terminals of a pod, several at a time: a shell, any command, or the process of a container itself. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { pathOf } from '../../core/kinds.ts';
import { may } from '../../core/rights.ts';
import { changeQuery, place } from '../../core/router.ts';
import { adoptStyle } from '../../ui/adopted-style.ts';
import { commandText } from '../../ui/command.ts';
import { Command } from '../../ui/command-line.tsx';
import { type Container, containersOf } from '../pods/containers.ts';
import type { TabProps } from '../tab.ts';
import { DebugForm } from './debug-form.tsx';
import type { Session } from './session.ts';
import { closeSession, openSession, sessions } from './sessions.ts';
import { shellFacts } from './shell-facts.ts';
import css from './terminal.css' with { type: 'text' };
import { wordsOf } from './words.ts';

adoptStyle(css);

/** The best shell that is there. */
const shell: readonly string[] = ['sh', '-c', 'exec "$(command -v bash || command -v sh)"'];

export function Tab({ kind, object }: TabProps) {
  const { uid, namespace, name } = object.metadata;
  const containers = containersOf(object);
  const path = pathOf(kind, namespace, name);
  const mine = sessions.value.filter(({ wish }) => wish.pod === uid);
  const wanted = Number(place.value.query.get('session'));
  const current = mine.find(({ id }) => id === wanted) ?? mine.at(-1);
  const [asking, setAsking] = useState(false);
  const [debugging, setDebugging] = useState(false);
  const [full, setFull] = useState(false);
  const open = (container: string, command: readonly string[] | undefined): void => {
    const session = openSession({ pod: uid, path, container, command });
    setFull(!session);
    setAsking(false);
    if (session) changeQuery({ session: String(session.id) });
  };
  // A shell in the first container that runs is what people want; it is opened once per look.
  const first = containers.find(({ type, running }) => type === 'main' && running);
  const opened = useRef(false);
  useEffect(() => {
    if (opened.current || mine.length > 0 || !first) return;
    opened.current = true;
    open(first.name, shell);
  }, [first?.name]);
  return (
    <div class="terminals">
      <div class="sessionbar">
        <div class="sessions" role="group" aria-label="Terminals">
          {mine.map((session) => (
            <SessionTab key={session.id} session={session} isCurrent={session === current} />
          ))}
        </div>
        <button type="button" onClick={() => setAsking(!asking)} aria-expanded={asking}>
          New terminal
        </button>
        {may('patch', kind, { namespace, subresource: 'ephemeralcontainers' }) && (
          <button type="button" onClick={() => setDebugging(!debugging)} aria-expanded={debugging}>
            Debug container
          </button>
        )}
      </div>
      {full && <p class="bad">Too many terminals are open; close one first.</p>}
      {(asking || (mine.length === 0 && !first)) && <NewSession containers={containers} onOpen={open} />}
      {debugging && (
        <DebugForm
          path={path}
          pod={object}
          onRunning={(container) => {
            setDebugging(false);
            open(container, undefined);
          }}
        />
      )}
      {current && (
        <p class="quiet shellfacts">
          {shellFacts(object, current.wish.container)} <kbd>Shift-F6</kbd> leaves the terminal.
        </p>
      )}
      {current && <Screen key={current.id} session={current} />}
      {current && <Command lines={[kubectlCommand(current, name, namespace)]} />}
    </div>
  );
}

function kubectlCommand({ wish }: Session, pod: string, namespace = ''): string {
  const where = [pod, '--namespace', namespace, '-c', wish.container];
  return wish.command
    ? commandText(['kubectl', 'exec', '-it', ...where, '--', ...wish.command])
    : commandText(['kubectl', 'attach', '-it', ...where]);
}

function SessionTab({ session, isCurrent }: { readonly session: Session; readonly isCurrent: boolean }) {
  const state = session.state.value;
  return (
    <span class={isCurrent ? 'session current' : 'session'}>
      <button
        type="button"
        class="plain"
        aria-pressed={isCurrent}
        onClick={() => changeQuery({ session: String(session.id) })}
      >
        {session.id}: {session.title}
        {state !== 'open' && <span class={state === 'lost' ? 'bad' : 'quiet'}> {state}</span>}
      </button>
      <button
        type="button"
        class="plain"
        aria-label={`Close terminal ${session.id}`}
        onClick={() => closeSession(session)}
      >
        ✕
      </button>
    </span>
  );
}

interface NewSessionProps {
  readonly containers: readonly Container[];
  readonly onOpen: (container: string, command: readonly string[] | undefined) => void;
}

function NewSession({ containers, onOpen }: NewSessionProps) {
  const running = containers.filter((container) => container.running);
  const [container, setContainer] = useState(running[0]?.name ?? '');
  const [command, setCommand] = useState('');
  if (running.length === 0) return <p class="waiting">No container of this pod is running.</p>;
  return (
    <form
      class="newsession"
      onSubmit={(event) => {
        event.preventDefault();
        onOpen(container, command.trim() ? wordsOf(command) : shell);
      }}
    >
      <label>
        Container
        <select value={container} onChange={({ currentTarget }) => setContainer(currentTarget.value)}>
          {running.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="wide">
        Command
        <input
          type="text"
          placeholder="a shell"
          spellcheck={false}
          autocomplete="off"
          value={command}
          onInput={({ currentTarget }) => setCommand(currentTarget.value)}
        />
      </label>
      <button type="submit" class="main">
        Run
      </button>
      <button type="button" onClick={() => onOpen(container, undefined)}>
        Attach
      </button>
    </form>
  );
}

function Screen({ session }: { readonly session: Session }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current!;
    session.show(element);
    const observer = new ResizeObserver(() => session.fit());
    observer.observe(element);
    return () => {
      observer.disconnect();
      session.element.remove();
    };
  }, [session]);
  return (
    <>
      <div class="screen" ref={box} />
      {session.state.value === 'ended' && (
        <p class="quiet again">
          It has ended.{' '}
          <button type="button" onClick={() => session.again()}>
            Run again
          </button>
        </p>
      )}
    </>
  );
}
