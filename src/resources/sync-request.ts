/** The annotation by which people ask for a sync of a node: any new value. The controller echoes it into the status. */
export const syncRequestAnnotation = 'modelgateway.dev/sync-requested-at';
