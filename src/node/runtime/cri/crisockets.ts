/** Where containerd and CRI-O have their sockets. */
const defaultSockets = ['/run/containerd/containerd.sock', '/run/crio/crio.sock'];

/** The sockets to try, best first. `off` as the wish: none. */
export const criSockets = (wish: string | undefined): readonly string[] =>
  wish === undefined ? defaultSockets : wish === 'off' ? [] : [wish.replace(/^unix:\/\//, '')];
