/** Lets the browser paint what the file of the dashboard holds before the script runs: it is fetched by then. */
import 'uplot/dist/uPlot.min.css';
import './style/page.css';
import './style/parts.css';
import './style/tables.css';
import './style/overview.css';
import './style/time.css';

const againMs = 2_000;

/** A connection that breaks while the script is fetched would leave an empty page: then it is loaded again. */
function start(): void {
  import('./start.tsx').catch((error) => {
    if (!(error instanceof TypeError)) throw error;
    setTimeout(() => location.reload(), againMs);
  });
}

// A page in the background has no frames.
if (document.visibilityState === 'visible') requestAnimationFrame(() => setTimeout(start));
else start();
