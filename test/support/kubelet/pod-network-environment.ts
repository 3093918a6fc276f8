/** Variables that tell pod-network.ts the pod's address, the file of Service names, and its namespace. */
export const environmentPrefix = 'TEST_POD_NETWORK_';
