/** Jumps to a kind or an object by what is typed: `po`, `po kube-system`, `web-7f9`, `app=web`, `10.1.0.7`. */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../core/api.ts';
import { type Kind, kindCalled, kindNamed, kinds } from '../core/kinds.ts';
import { moment } from '../core/moment.ts';
import { go } from '../core/router.ts';
import { Dialog } from '../ui/dialog.tsx';
import { pluralOf } from '../ui/kind-name.ts';
import { listPlace, objectPlace } from '../ui/link.tsx';

const kindsMax = 4;
const objectsMax = 12;
/** Letters from which on objects are searched for. */
const lettersMin = 2;

interface FoundObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  readonly match: { readonly by: string; readonly text: string };
}

interface SearchAnswer {
  readonly items: readonly FoundObject[];
  readonly metadata: { readonly remainingItemCount?: number };
}

interface Target {
  readonly id: string;
  readonly kind: Kind;
  readonly namespace?: string | undefined;
  /** Undefined: the list of the kind. */
  readonly found?: FoundObject;
}

interface JumpProps {
  /** What is typed at first. */
  readonly text?: string;
  readonly onClose: () => void;
}

export function Jump({ text: initial = '', onClose }: JumpProps) {
  const [text, setText] = useState(initial);
  const [chosen, setChosen] = useState(0);
  const words = text.replace(/^:/, '').trim();
  const { answer, isAnswered } = useSearch(words);
  /** What was typed when Enter was pressed before the answer to it was there. */
  const [hurried, setHurried] = useState<string>();
  const { best, others } = kindTargets(text);
  const targets = [...best, ...objectTargets(answer), ...others];
  const at = Math.min(chosen, targets.length - 1);
  const jump = (target: Target | undefined): void => {
    if (!target) return;
    onClose();
    const { kind, namespace, found } = target;
    if (found) go(objectPlace(kind, found.namespace, found.name));
    else go(listPlace(kind), namespace ? { ns: namespace === '*' ? undefined : namespace } : {});
  };
  useEffect(() => {
    if (hurried === undefined || !isAnswered) return;
    setHurried(undefined);
    if (hurried === words) jump(targets[at]);
  }, [hurried, words, isAnswered]);
  const more = answer?.metadata.remainingItemCount;
  return (
    <Dialog title="Jump to a kind or an object" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isAnswered || best.length > 0 || chosen > 0) jump(targets[at]);
          else setHurried(words);
        }}
      >
        <input
          type="text"
          class="jumptext"
          role="combobox"
          aria-label="Kind and namespace, or a name, label, image, address or uid"
          aria-expanded={targets.length > 0}
          aria-controls="jumps"
          aria-activedescendant={targets[at] && `jump-${at}`}
          placeholder="po kube-system, web-7f9, app=web, 10.1.0.7"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={(event) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (!step) return;
            event.preventDefault();
            setChosen(Math.max(0, Math.min(targets.length - 1, at + step)));
          }}
        />
        <div class="jumps" id="jumps" role="listbox" aria-label="Found">
          {targets.map((target, i) => (
            <button
              key={target.id}
              id={`jump-${i}`}
              type="button"
              class="plain"
              role="option"
              aria-selected={i === at}
              tabIndex={-1}
              onClick={() => jump(target)}
            >
              <TargetText target={target} />
            </button>
          ))}
        </div>
        {more !== undefined && <p class="quiet">and {more.toLocaleString('en')} more</p>}
        {answer && targets.length === 0 && <p class="quiet">Nothing is called that.</p>}
      </form>
    </Dialog>
  );
}

function TargetText({ target: { kind, found } }: { readonly target: Target }) {
  if (!found)
    return (
      <>
        {pluralOf(kind)} <span class="quiet">{kind.group || 'core'}</span>
        {kind.shortNames.map((short) => (
          <kbd key={short}>{short}</kbd>
        ))}
      </>
    );
  const { namespace, name, match } = found;
  return (
    <>
      <span class="quiet">{kind.kind}</span>
      <span>
        {namespace && <span class="quiet">{namespace}/</span>}
        {name}
      </span>
      {match.by !== 'name' && (
        <span class="quiet">
          {match.by} {match.text}
        </span>
      )}
    </>
  );
}

/** The kind that is meant, and others whose names have the text in them, which come after objects. */
function kindTargets(text: string): Readonly<Record<'best' | 'others', Target[]>> {
  const [name = '', namespace] = text.replace(/^:/, '').trim().split(/\s+/);
  const best = name ? kindCalled(name) : undefined;
  const others = (kinds.value ?? []).filter(
    (kind) => kind !== best && kind.verbs.has('list') && kind.id.includes(name.toLowerCase()),
  );
  const targetOf = (kind: Kind): Target => ({ id: kind.id, kind, namespace });
  return { best: best ? [targetOf(best)] : [], others: others.slice(0, kindsMax).map(targetOf) };
}

const objectTargets = (answer: SearchAnswer | undefined): Target[] =>
  (answer?.items ?? []).flatMap((found) => {
    const kind = kindNamed(found.apiVersion, found.kind);
    return kind ? [{ id: found.uid, kind, found }] : [];
  });

/** What the server finds; the answer before stays until the next is there. */
function useSearch(words: string): { answer: SearchAnswer | undefined; isAnswered: boolean } {
  const [{ answer, to }, setFound] = useState<{ answer?: SearchAnswer; to?: string }>({});
  const isLong = words.length >= lettersMin;
  const at = moment.value;
  useEffect(() => {
    const stop = new AbortController();
    // Without words, so that the server is ready for the first.
    const query = { q: isLong ? words : '', limit: objectsMax, resourceVersion: at };
    ask<SearchAnswer>('/wherry/search', { query, signal: stop.signal }).then(
      (found) => setFound(isLong ? { answer: found, to: words } : {}),
      () => stop.signal.aborted || setFound((before) => ({ ...before, to: words })),
    );
    return () => stop.abort();
  }, [isLong ? words : '', at]);
  return { answer: isLong ? answer : undefined, isAnswered: !isLong || to === words };
}
