/** Where containerd, CRI-O, the containerd of k3s, and cri-dockerd have their sockets. */
const defaultSockets = [
  '/run/containerd/containerd.sock',
  '/run/crio/crio.sock',
  '/run/k3s/containerd/containerd.sock',
  '/run/cri-dockerd.sock',
];

/** The sockets to try, best first. `off` as the wish: none. */
export const criSockets = (wish: string | undefined): readonly string[] =>
  wish === undefined ? defaultSockets : wish === 'off' ? [] : [wish.replace(/^unix:\/\//, '')];
