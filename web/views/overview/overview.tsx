/** The cluster at a glance. */
import { kindOf } from '../../core/kinds.ts';
import { Link, listPlace } from '../../ui/link.tsx';

export function View() {
  const pods = kindOf('pods');
  return (
    <>
      <div class="titleline">
        <h1>Overview</h1>
      </div>
      {pods && <Link to={listPlace(pods)}>Pods</Link>}
    </>
  );
}
