/** Whether tests run in their long form: `npm run test:faults`. */
export const long = Boolean(process.env['MODEL_GATEWAY_TEST_LONG']);
