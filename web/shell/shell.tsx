/** The frame of the dashboard: bar, navigation, the view, and what lies over it. */

import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { refusedNow } from '../core/backoff.ts';
import { connection } from '../core/connection.ts';
import { signInReason } from '../core/credentials.ts';
import { useKeys } from '../core/keys.ts';
import { kindOf, kinds, kindsError } from '../core/kinds.ts';
import { moment } from '../core/moment.ts';
import { noNamespace } from '../core/objects.ts';
import { knowRights } from '../core/rights.ts';
import { go, place } from '../core/router.ts';
import { Lazy } from '../ui/lazy.tsx';
import { Refusal } from '../ui/refusal.tsx';
import type { ViewProps } from '../views/view.ts';
import { Bar } from './bar.tsx';
import { CopyStrip } from './copy-strip.tsx';
import { Help } from './help.tsx';
import { Jump } from './jump.tsx';
import { Navigation } from './navigation.tsx';
import { titleOf } from './title.ts';
import { viewAt } from './views.ts';

const timeBar = () => import('./time-bar.tsx').then(({ TimeBar }) => TimeBar);
const signIn = () => import('./sign-in.tsx').then(({ SignIn }) => SignIn);

export function Shell() {
  const [over, setOver] = useState<'help' | 'jump'>();
  const [time, setTime] = useState(false);
  const [menu, setMenu] = useState(false);
  const here = place.value;
  useEffect(() => setMenu(false), [here]);
  const title = titleOf(here, kindOf);
  useEffect(() => {
    document.title = title;
  }, [title]);
  useKeys([
    { key: '?', does: 'show the keys', run: () => setOver('help') },
    { key: ':', does: 'jump to a kind, such as :po kube-system, or an object', run: () => setOver('jump') },
    { key: '/', does: 'find an object', run: () => setOver('jump') },
    { key: 't', does: 'open the time machine', run: () => setTime(true) },
    { key: 'o', does: 'go to the overview', run: () => go([]) },
  ]);
  if (signInReason.value !== undefined) return <Lazy load={signIn} props={{ reason: signInReason.value }} />;
  return (
    <div class={moment.value === undefined ? 'shell' : 'shell past'}>
      <a class="skip" href="#view">
        Skip to the view
      </a>
      <Bar
        onMenu={() => setMenu(!menu)}
        onTime={() => setTime(!time)}
        onJump={() => setOver('jump')}
        onHelp={() => setOver('help')}
        menuOpen={menu}
      />
      <Navigation open={menu} />
      <div class="strips">
        {kinds.value && <CopyStrip />}
        {kinds.value && (time || moment.value !== undefined) && (
          <Lazy load={timeBar} props={{ onClose: () => setTime(false) }} />
        )}
        {connection.value === 'lost' && (
          <p class="lost" role="status">
            The server does not answer. What you see is the last known state; the page goes on when it is
            back.
          </p>
        )}
        {connection.value === 'open' && refusedNow.value && (
          <p class="refusednow" role="status">
            The server refuses some requests for now: {refusedNow.value}. The page asks again by itself.
          </p>
        )}
      </div>
      <main id="view" tabIndex={-1}>
        <CurrentView />
      </main>
      {over === 'help' && <Help onClose={() => setOver(undefined)} />}
      {over === 'jump' && <Jump onClose={() => setOver(undefined)} />}
    </div>
  );
}

const loaders = new Map<string, () => Promise<ComponentType<ViewProps>>>();

function CurrentView() {
  const entry = viewAt(place.value);
  if (!kinds.value) {
    if (kindsError.value)
      return <Refusal error={kindsError.value} what="What the server has could not be found out." />;
    return <p class="waiting">Asking the server what it has…</p>;
  }
  const { path, query } = place.value;
  const within = path[0] === 'object' && path[2] !== noNamespace ? path[2] : undefined;
  const namespaces = [query.get('ns'), within].filter((each) => typeof each === 'string');
  if (!knowRights(namespaces)) return <p class="waiting">Asking the server what you may see…</p>;
  if (!entry) return <Refusal error={new Error('There is no such view.')} what="Nothing is here." />;
  let load = loaders.get(entry.name);
  if (!load) {
    load = () => entry.load().then(({ View }) => View);
    loaders.set(entry.name, load);
  }
  return <Lazy load={load} props={{ path: place.value.path.slice(1) }} />;
}
