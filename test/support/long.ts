/** Whether tests run in their long form: `npm run faults -- --long`. */
export const long = Boolean(process.env['MODEL_GATEWAY_TEST_LONG']);
