/** Jumps to a kind by what is typed: `po`, `deploy web`, `po kube-system`. */
import { useState } from 'preact/hooks';
import { type Kind, kindCalled, kinds } from '../core/kinds.ts';
import { go } from '../core/router.ts';
import { Dialog } from '../ui/dialog.tsx';
import { pluralOf } from '../ui/kind-name.ts';
import { listPlace } from '../ui/link.tsx';

const shownMax = 8;

export function Jump({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [name = '', namespace] = text.replace(/^:/, '').trim().split(/\s+/);
  const best = name ? kindCalled(name) : undefined;
  const found = (kinds.value ?? []).filter(
    (kind) => kind !== best && kind.verbs.has('list') && kind.id.includes(name.toLowerCase()),
  );
  const jump = (kind: Kind | undefined): void => {
    if (!kind) return;
    onClose();
    go(listPlace(kind), namespace ? { ns: namespace === '*' ? undefined : namespace } : {});
  };
  return (
    <Dialog title="Jump to a kind" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          jump(best ?? found[0]);
        }}
      >
        <input
          type="text"
          class="jumptext"
          aria-label="Kind and namespace"
          placeholder="po kube-system"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <ul class="jumps">
          {[...(best ? [best] : []), ...found].slice(0, shownMax).map((kind) => (
            <li key={kind.id}>
              <button type="button" class="plain" onClick={() => jump(kind)}>
                {pluralOf(kind)} <span class="quiet">{kind.group || 'core'}</span>
                {kind.shortNames.map((short) => (
                  <kbd key={short}>{short}</kbd>
                ))}
              </button>
            </li>
          ))}
        </ul>
      </form>
    </Dialog>
  );
}
