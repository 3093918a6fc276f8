/** The flags of every command that reads a cluster or a folder, with their help in `help flags`. */
export const placeFlags: readonly (readonly [flags: string, help: string])[] = [
  ['-n, --namespace NAME', "default: the context's; in a folder: default"],
  ['-A, --all-namespaces', 'all namespaces, where a command lists'],
  ['--context NAME', 'context of the kubeconfig'],
  ['--kubeconfig FILE', 'default: $KUBECONFIG, ~/.kube/config, then the pod'],
  ['--as USER', 'act as this user'],
  ['--as-group GROUP', 'act as this group, repeatable; with --as'],
  ['--request-timeout TIME', 'longest time of one request: 1m (default 10s; 0: none)'],
  ['--manifests DIR', 'a folder of manifests instead of a cluster'],
  ['--data DIR', "the gateway's data folder (default: data beside it)"],
];
