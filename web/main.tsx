/** Lets the browser paint the static page before the script runs, which is fetched meanwhile. */
import 'uplot/dist/uPlot.min.css';
import './style/page.css';
import './style/parts.css';
import './style/tables.css';
import './style/overview.css';
import './style/time.css';

const againMs = 2_000;

/**
 * Starts the dashboard. If the connection breaks while the script is fetched, the page is loaded again instead of
 * staying empty.
 */
function start(): void {
  import('./start.tsx').catch((error) => {
    if (!(error instanceof TypeError)) throw error;
    setTimeout(() => location.reload(), againMs);
  });
}

// A page in the background has no frames.
if (document.visibilityState === 'visible') requestAnimationFrame(() => setTimeout(start));
else start();
