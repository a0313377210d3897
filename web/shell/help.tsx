/** The keys that do something now. */
import { Fragment } from 'preact';
import { bindings } from '../core/keys.ts';
import { Dialog } from '../ui/dialog.tsx';

const shownNames: Readonly<Record<string, string>> = { ' ': 'Space', ArrowDown: '↓', ArrowUp: '↑' };

export function Help({ onClose }: { readonly onClose: () => void }) {
  const current = new Map(bindings.value.map(({ key, does }) => [key, does]));
  const keysOf = Map.groupBy(current, ([, does]) => does);
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {[...keysOf].map(([does, keys]) => (
          <div key={does}>
            <dt>
              {keys.map(([key]) => (
                <Fragment key={key}>
                  <kbd>{shownNames[key] ?? key}</kbd>{' '}
                </Fragment>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
