/** The bar at the top: name, namespace, search, connection, moment, theme. */
import { useEffect } from 'preact/hooks';
import { refusedNow } from '../core/backoff.ts';
import { connection } from '../core/connection.ts';
import { signOut, token } from '../core/credentials.ts';
import { kindOf, kinds, pathOf } from '../core/kinds.ts';
import { useLiveTable } from '../core/live.ts';
import { moment } from '../core/moment.ts';
import { askUser, knowRights, maySee, userName } from '../core/rights.ts';
import { changeQuery, place } from '../core/router.ts';
import { switchTheme, theme } from '../core/theme.ts';
import { Link } from '../ui/link.tsx';

interface BarProps {
  readonly onMenu: () => void;
  readonly onTime: () => void;
  readonly onJump: () => void;
  readonly onHelp: () => void;
  readonly menuOpen: boolean;
}

export function Bar({ onMenu, onTime, onJump, onHelp, menuOpen }: BarProps) {
  const namespaces = kindOf('namespaces');
  const dark = theme.value === 'dark';
  return (
    <header class="bar">
      <button type="button" class="plain menu" aria-label="Menu" aria-expanded={menuOpen} onClick={onMenu}>
        ☰
      </button>
      <Link to={[]} class="brand">
        Wherry
      </Link>
      {namespaces && knowRights([]) && maySee('namespaces') && <NamespaceChoice path={pathOf(namespaces)} />}
      {namespaces && knowRights([]) && !maySee('namespaces') && <NamespaceText />}
      <button type="button" class="jump" onClick={onJump}>
        <span>Find or jump</span> <kbd>:</kbd>
      </button>
      <span class="gap" />
      <ConnectionState />
      <button
        type="button"
        class={moment.value === undefined ? 'plain' : 'main'}
        aria-label="History"
        title="Key t"
        onClick={onTime}
      >
        <Clock />
        <span class="label">History</span>
      </button>
      <User />
      {token.value && (
        <button
          type="button"
          class="plain"
          aria-label={`Sign out ${userName.value ?? ''}`.trim()}
          onClick={signOut}
        >
          <Door />
          <span class="label">Sign out</span>
        </button>
      )}
      <button
        type="button"
        class="plain"
        aria-label={dark ? 'Light colours' : 'Dark colours'}
        onClick={switchTheme}
      >
        {dark ? '☀' : '☾'}
      </button>
      <button type="button" class="plain" aria-label="Keys" onClick={onHelp}>
        ?
      </button>
    </header>
  );
}

/** The user's name; on the local door all users are the same. */
function User() {
  useEffect(() => {
    if (kinds.value) void askUser();
  }, [kinds.value === undefined, token.value]);
  if (!userName.value) return null;
  return (
    <span class="user quiet" title={`Signed in as ${userName.value}`}>
      {userName.value}
    </span>
  );
}

function ConnectionState() {
  const [word, tone, title] =
    connection.value === 'lost'
      ? ['lost', 'bad', 'The server does not answer']
      : refusedNow.value
        ? ['busy', 'warn', 'The server refuses some requests for now']
        : [moment.value === undefined ? 'live' : 'past', '', 'Connected'];
  return (
    <span class={`state ${tone}`} title={title}>
      <span class="dot" aria-hidden="true" />
      <span class="label">{word}</span>
    </span>
  );
}

const Clock = () => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <circle cx="8" cy="8" r="6.2" />
    <path d="M8 4.5V8l2.6 1.8" />
  </svg>
);

const Door = () => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d="M6.5 2.5h-4v11h4M6 8h8M11 5l3 3-3 3" />
  </svg>
);

/** For users who may not list namespaces: they name one that they may see. */
const NamespaceText = () => (
  <input
    type="text"
    class="namespace"
    aria-label="Namespace"
    placeholder="Namespace"
    spellcheck={false}
    value={place.value.query.get('ns') ?? ''}
    onChange={({ currentTarget }) => changeQuery({ ns: currentTarget.value.trim() || undefined }, true)}
  />
);

function NamespaceChoice({ path }: { readonly path: string }) {
  const table = useLiveTable(path);
  // Read to subscribe to changes, because rows are kept outside of signals.
  void table.version.value;
  const chosen = place.value.query.get('ns') ?? '';
  const names = [...table.rows.values()].map(({ name }) => name).sort();
  if (chosen && !names.includes(chosen)) names.push(chosen);
  return (
    <select
      class="namespace"
      aria-label="Namespace"
      value={chosen}
      onChange={({ currentTarget }) => changeQuery({ ns: currentTarget.value || undefined }, true)}
    >
      <option value="">All namespaces</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
