/** The commands that `run-role.ts` runs, with what the program's help says of each. Alone here: the help must load quickly. */
export const roleSummaries = {
  start: 'the quick start: standalone mode on ./model-gateway',
  standalone: 'controller and gateway in one process, on a folder of manifests',
  controller: 'the controller, in a cluster',
  gateway: 'the gateway, in a cluster',
  seal: "encrypt a node's credential for a manifest",
} as const;
