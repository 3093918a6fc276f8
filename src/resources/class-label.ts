/** The label that says which installation serves an object; objects without it belong to installations without a class. */
export const classLabel = 'modelgateway.dev/class';
