/** The labels that the chart gives to the pods of gateways. */
export const gatewayLabels = 'app.kubernetes.io/part-of=model-gateway,app.kubernetes.io/component=gateway';
